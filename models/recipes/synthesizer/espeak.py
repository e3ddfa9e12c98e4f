"""espeak-ng through ctypes: audio together with exact word and phoneme events."""

import ctypes
import numpy as np

_WORD, _PHONEME = 1, 7
_AUDIO_SYNCHRONOUS, _PHONEME_EVENTS = 2, 1
_CHARS_UTF8, _POS_CHARACTER = 1, 1
_RATE = 1
ESPEAK_SAMPLE_RATE = 22_050


class _Id(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("identifier", ctypes.c_uint), ("text_position", ctypes.c_int),
                ("length", ctypes.c_int), ("audio_position", ctypes.c_int), ("sample", ctypes.c_int),
                ("user_data", ctypes.c_void_p), ("id", _Id)]


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


class Espeak:
    """A single espeak-ng instance of this process (the library keeps global state)."""

    def __init__(self):
        self.library = ctypes.CDLL("libespeak-ng.so.1")
        rate = self.library.espeak_Initialize(_AUDIO_SYNCHRONOUS, 0, None, _PHONEME_EVENTS)
        if rate != ESPEAK_SAMPLE_RATE:
            raise RuntimeError(f"espeak-ng answers sample rate {rate}")
        self._audio, self._events = [], []
        self._callback = _CALLBACK(self._receive)  # kept: ctypes would otherwise collect it
        self.library.espeak_SetSynthCallback(self._callback)
        self._voice = None

    def _receive(self, samples, count, events):
        if samples and count > 0:
            self._audio.append(np.ctypeslib.as_array(samples, (count,)).copy())
        index = 0
        while events[index].type != 0:
            event = events[index]
            if event.type == _WORD:
                self._events.append(("word", event.sample, event.text_position, event.length))
            elif event.type == _PHONEME:
                # The name is not always zero-terminated: read all 8 bytes of the union.
                address = ctypes.addressof(event) + _Event.id.offset
                name = ctypes.string_at(address, 8).split(b"\0")[0].decode("utf-8", "replace")
                self._events.append(("phoneme", event.sample, name, 0))
            index += 1
        return 0

    def synthesize(self, text, voice, rate):
        """Returns (audio f32 [n] at 22 050 Hz in -1..1, events).

        events: ("word", sample, 1-based character position, length) and ("phoneme", sample, name, 0) in order."""
        if voice != self._voice:
            if self.library.espeak_SetVoiceByName(voice.encode()) != 0:
                raise RuntimeError(f"espeak-ng has no voice {voice}")
            self._voice = voice
        self.library.espeak_SetParameter(_RATE, int(rate), 0)
        self._audio, self._events = [], []
        data = text.encode("utf-8") + b"\0"
        self.library.espeak_Synth(data, ctypes.c_size_t(len(data)), 0, _POS_CHARACTER, 0, _CHARS_UTF8, None, None)
        audio = np.concatenate(self._audio) if self._audio else np.zeros(0, np.int16)
        return audio.astype(np.float32) / 32768.0, self._events
