// Transcribes PCM from standard input with OpenAI's realtime events: 16-bit little-endian, mono, 24 kHz.
import { WebSocket } from "ws";

const url = (process.env.DAUYS_URL ?? "http://127.0.0.1:8080").replace(/^http/, "ws");
const socket = new WebSocket(`${url}/v1/realtime?intent=transcription`, {
  headers: { Authorization: `Bearer ${process.env.DAUYS_API_KEY}` },
});
const send = (event) => socket.send(JSON.stringify(event));
let isLast = false;

socket.on("open", () => {
  // Commits end turns. Without this, pauses of half a second end turns.
  send({
    type: "session.update",
    session: { type: "transcription", audio: { input: { turn_detection: null } } },
  });
  process.stdin.on("data", (pcm) =>
    send({ type: "input_audio_buffer.append", audio: pcm.toString("base64") }),
  );
  process.stdin.on("end", () => {
    isLast = true;
    send({ type: "input_audio_buffer.commit" });
  });
});
socket.on("message", (data) => {
  const { type, delta, transcript, error } = JSON.parse(data);
  if (type.endsWith(".delta") && process.stderr.isTTY) process.stderr.write(delta);
  if (type.endsWith(".completed")) console.log(transcript);
  if (type === "error") console.error(error.message);
  if (type === "error" || (isLast && type.endsWith(".completed"))) socket.close();
});
