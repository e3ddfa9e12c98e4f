/** Texts about the speakers of recordings; the other texts of each language are in its file. */
export const speakersEn = {
  speakers: "Tell speakers apart",
  speakersHint: "Takes longer. The price is the same.",
  speakerName: "Speaker {n}",
  e_diarization_unavailable: "Speakers cannot be told apart right now. Try again later, or without them.",
};

type SpeakerTexts = Readonly<Record<keyof typeof speakersEn, string>>;

export const speakersRu: SpeakerTexts = {
  speakers: "Различать говорящих",
  speakersHint: "Займёт больше времени. Цена не изменится.",
  speakerName: "Говорящий {n}",
  e_diarization_unavailable: "Сейчас различить говорящих нельзя. Попробуйте позже или отключите эту опцию.",
};

export const speakersKk: SpeakerTexts = {
  speakers: "Сөйлеушілерді ажырату",
  speakersHint: "Көбірек уақыт алады. Бағасы өзгермейді.",
  speakerName: "{n}-сөйлеуші",
  e_diarization_unavailable:
    "Қазір сөйлеушілерді ажырату мүмкін емес. Кейінірек қайталап көріңіз немесе бұл параметрді өшіріңіз.",
};
