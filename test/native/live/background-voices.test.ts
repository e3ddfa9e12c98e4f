import assert from "node:assert/strict";
import { test } from "node:test";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { Beds, ROOMS } from "../../../bench/support/rooms/beds.js";
import { steppedListener } from "../../../bench/support/rooms/listen.js";
import { nearClip } from "../../../bench/support/rooms/speakers.js";
import { cellTakes, mixTake } from "../../../bench/support/rooms/takes.js";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import { RATE_HZ, speech } from "../../support/audio.js";
import { RECOGNIZER_FOLDER } from "../../support/folders.js";

const SAID = [
  "cannot-complete-as-dialed",
  "call-waiting",
  "call-forward",
  "accept-reject",
  "added",
  "T-is-not-available",
];
const BEHIND = "kazakh-speech-commands/example_1.flac";
/** The times of words are those of frames. */
const MARGIN_SECONDS = 0.1;

test("finals leave out a voice 20 dB below the speaker that talks first", async () => {
  const rooms = ROOMS.filter(({ name }) => name === "one").map((room) => ({ ...room, levelsDb: [20] }));
  const clipOf = (speaker: string, path: string) =>
    nearClip({ who: "people", speaker, text: path }, toFloat(speech(path)));
  const near = SAID.map((name) => clipOf("near", `asterisk-ru-additional/${name}.flac`));
  const beds = new Beds(
    [{ who: "people", speaker: "behind", talk: clipOf("behind", BEHIND).samples }],
    rooms,
  );
  const takes = cellTakes(rooms, near);
  const recognizer = await recognizerIn(RECOGNIZER_FOLDER);
  const heard = await steppedListener(recognizer)(takes, (take) => mixTake(take, beds).pcm);
  await recognizer.model.release();
  for (const [index, take] of takes.entries()) {
    const onset = mixTake(take, beds).truth.onset / RATE_HZ;
    const spoken = heard[index]!.filter(({ text }) => text !== "");
    assert.ok(spoken.length > 0, `${take.near!.text} has no final`);
    for (const { text, start } of spoken) {
      const seconds = start / RATE_HZ;
      assert.ok(seconds >= onset - MARGIN_SECONDS, `"${text}" starts at ${seconds} s, not ${onset} s`);
    }
  }
});
