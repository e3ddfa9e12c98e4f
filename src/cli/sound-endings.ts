/** File extensions of audio and video, in lower case, that the service accepts if ffmpeg is installed. */
export const SOUND_ENDINGS: readonly string[] = [
  ...[".wav", ".mp3", ".m4a", ".aac", ".mp4", ".flac", ".ogg", ".oga", ".opus", ".webm", ".weba", ".wma"],
  ...[".aif", ".aiff", ".aifc", ".caf", ".amr", ".au", ".snd", ".mka", ".mkv", ".mov", ".3gp", ".m4b"],
  ...[".ac3", ".spx", ".avi", ".mpg", ".mpeg", ".m4v", ".ogv"],
];
