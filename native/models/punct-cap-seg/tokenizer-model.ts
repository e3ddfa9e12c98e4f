import { PbfReader } from "pbf";

/** Types of pieces in `sentencepiece_model.proto`. */
export const PIECE = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5 } as const;

interface Piece {
  text: string;
  score: number;
  type: number;
}

interface TokenizerModel {
  readonly pieces: readonly Piece[];
  readonly bos: string;
  readonly eos: string;
  /** `precompiled_charsmap`; empty without rules. */
  readonly characterMap: Uint8Array;
  readonly addsDummyPrefix: boolean;
  readonly removesExtraSpaces: boolean;
}

const UNIGRAM = 1;

/**
 * Reads a SentencePiece model with unigram pieces.
 *
 * @see https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto
 * @throws {RangeError} if the bytes are not a SentencePiece model, or not a unigram one
 */
export function readTokenizerModel(bytes: Uint8Array): TokenizerModel {
  const read = { pieces: [] as Piece[], trainer: { ...TRAINER }, normalizer: { ...NORMALIZER } };
  new PbfReader(bytes).readFields(readModelField, read);
  const { pieces, trainer, normalizer } = read;
  if (pieces.length === 0) throw new RangeError("it has no pieces");
  if (trainer.kind !== UNIGRAM) throw new RangeError("its pieces must be unigrams");
  if (trainer.hasByteFallback) throw new RangeError("byte fallback is not supported");
  if (trainer.endsWithSpaces || !normalizer.escapesSpaces)
    throw new RangeError("pieces must start with a space, written as ▁");
  return { pieces, ...trainer, ...normalizer };
}

interface Normalizer {
  characterMap: Uint8Array;
  addsDummyPrefix: boolean;
  removesExtraSpaces: boolean;
  escapesSpaces: boolean;
}

/** The format's defaults. */
const TRAINER = { kind: UNIGRAM, bos: "<s>", eos: "</s>", hasByteFallback: false, endsWithSpaces: false };
const NORMALIZER: Normalizer = {
  characterMap: new Uint8Array(0),
  addsDummyPrefix: true,
  removesExtraSpaces: true,
  escapesSpaces: true,
};

interface Read {
  readonly pieces: Piece[];
  readonly trainer: typeof TRAINER;
  readonly normalizer: Normalizer;
}

function readModelField(field: number, { pieces, trainer, normalizer }: Read, pbf: PbfReader): void {
  if (field === 1) pieces.push(pbf.readMessage(readPieceField, { text: "", score: 0, type: PIECE.normal }));
  else if (field === 2) pbf.readMessage(readTrainerField, trainer);
  else if (field === 3) pbf.readMessage(readNormalizerField, normalizer);
}

function readPieceField(field: number, piece: Piece, pbf: PbfReader): void {
  if (field === 1) piece.text = pbf.readString();
  else if (field === 2) piece.score = pbf.readFloat();
  else if (field === 3) piece.type = pbf.readVarint();
}

function readTrainerField(field: number, trainer: typeof TRAINER, pbf: PbfReader): void {
  if (field === 3) trainer.kind = pbf.readVarint();
  else if (field === 24) trainer.endsWithSpaces = pbf.readBoolean();
  else if (field === 35) trainer.hasByteFallback = pbf.readBoolean();
  else if (field === 46) trainer.bos = pbf.readString();
  else if (field === 47) trainer.eos = pbf.readString();
}

function readNormalizerField(field: number, normalizer: Normalizer, pbf: PbfReader): void {
  if (field === 2) normalizer.characterMap = pbf.readBytes();
  else if (field === 3) normalizer.addsDummyPrefix = pbf.readBoolean();
  else if (field === 4) normalizer.removesExtraSpaces = pbf.readBoolean();
  else if (field === 5) normalizer.escapesSpaces = pbf.readBoolean();
}
