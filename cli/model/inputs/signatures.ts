/**
 * Formats that are not text, by the first bytes of their files, and the command that makes text of them.
 *
 * Letters may begin a text too ("MZ", "ID3"): those count only beside a control byte, which all of these formats have.
 */

import { shellWord, shellWords } from "../../program/shell_words.ts";

interface Signature {
  readonly bytes: string;
  readonly at?: number;
  readonly kind: string;
  readonly next: (path: string) => string;
}

const textPath = (path: string) =>
  `${path.replace(/\.(gz|bz2|xz|zst|lz4|zip|7z|rar|tar|pdf|rtf|mp[34]|wav|ogg|flac|m4a|mkv|webm|avi)$/i, "")}.txt`;
const piped = (...words: string[]) => (path: string) =>
  `Unpack it: ${shellWords([...words, path])} > ${shellWord(textPath(path))}`;
const unpacked = (...words: string[]) => (path: string) =>
  `Unpack it, and pass one text file that was inside: ${shellWords([...words, path])}`;
const exported = (what: string) => () => `Export its text to a file first, ${what}`;
const spoken = (path: string) =>
  `Have what is said in it written down, for example with whisper, and pass ${shellWord(textPath(path))}`;
const none = () => "Pass a text file";
const separated = exported("with <|endoftext|> on a line of its own between the texts");
const picture = (bytes: string, name: string): Signature => ({
  ...{ bytes, kind: `a picture (${name})`, next: exported("for example with tesseract") },
});
const audio = (bytes: string, name: string, at = 0): Signature => ({
  bytes,
  at,
  kind: `audio (${name})`,
  next: spoken,
});
const video = (bytes: string, name: string, at = 0): Signature => ({
  bytes,
  at,
  kind: `video (${name})`,
  next: spoken,
});
const program = (bytes: string, system: string): Signature => ({ bytes, kind: `a program (${system})`, next: none });

const signatures: readonly Signature[] = [
  { bytes: "BZh", kind: "compressed with bzip2", next: piped("bzip2", "-dc") },
  { bytes: "\xfd7zXZ\0", kind: "compressed with xz", next: piped("xz", "-dc") },
  { bytes: "\x04\x22\x4d\x18", kind: "compressed with lz4", next: piped("lz4", "-dc") },
  {
    bytes: "PK\x03\x04",
    kind: "a ZIP archive, as Word, OpenDocument and EPUB files are too",
    next: (path) => `${unpacked("unzip")(path)}. Of a document or a book, save the text from its program instead`,
  },
  { bytes: "7z\xbc\xaf\x27\x1c", kind: "a 7-Zip archive", next: unpacked("7z", "x") },
  { bytes: "Rar!\x1a\x07", kind: "a RAR archive", next: unpacked("unrar", "x") },
  { bytes: "ustar", at: 257, kind: "a tar archive", next: unpacked("tar", "-xf") },
  {
    bytes: "%PDF-",
    kind: "a PDF document",
    next: (path) => `Take its text out: ${shellWords(["pdftotext", path, textPath(path)])}`,
  },
  { bytes: "{\\rtf", kind: "an RTF document", next: exported("from the program that wrote it") },
  { bytes: "\xd0\xcf\x11\xe0", kind: "an old Office document", next: exported("from the program that wrote it") },
  { bytes: "ARROW1", kind: "an Arrow table", next: separated },
  { bytes: "SQLite format 3\0", kind: "an SQLite database", next: exported("with sqlite3") },
  { bytes: "\x89HDF", kind: "an HDF5 file", next: exported("with its own tools") },
  { bytes: "\x93NUMPY", kind: "a NumPy array", next: exported("the text that its numbers were made of") },
  { bytes: "GGUF", kind: "a model's parameters (GGUF)", next: none },
  picture("\x89PNG", "PNG"),
  picture("\xff\xd8\xff", "JPEG"),
  picture("GIF8", "GIF"),
  picture("II*\0", "TIFF"),
  picture("MM\0*", "TIFF"),
  program("\x7fELF", "Linux"),
  program("MZ", "Windows"),
  program("\xcf\xfa\xed\xfe", "macOS"),
  program("\xfe\xed\xfa\xcf", "macOS"),
  program("\xca\xfe\xba\xbe", "macOS or Java"),
  program("\0asm", "WebAssembly"),
  audio("ID3", "MP3"),
  ...["\xff\xfb", "\xff\xfa", "\xff\xf3", "\xff\xf2"].map((bytes) => audio(bytes, "MP3")),
  audio("\xff\xf1", "AAC"),
  audio("OggS", "Ogg"),
  audio("fLaC", "FLAC"),
  audio("MThd", "MIDI"),
  audio("WAVE", "WAV", 8),
  audio("ftypM4A", "M4A", 4),
  video("AVI ", "AVI", 8),
  picture("RIFF", "WebP"),
  video("ftyp", "MP4", 4),
  video("\x1a\x45\xdf\xa3", "Matroska or WebM"),
  video("FLV\x01", "Flash"),
  video("\0\0\x01\xba", "MPEG"),
  video("\x30\x26\xb2\x75\x8e\x66\xcf\x11", "Windows Media"),
];

const headBytes = 300;
const documents = /^(%PDF-|\{\\rtf)/; // text themselves, but no prose begins so

export function knownFormat(bytes: Uint8Array): Pick<Signature, "kind" | "next"> | null {
  const first = bytes.subarray(0, headBytes);
  const head = Array.from(first, (byte) => String.fromCharCode(byte)).join("");
  const hasNoText = first.some((byte) => byte < 8 || (byte > 13 && byte < 27));
  const isSure = (signature: string) => documents.test(signature) || !/^[ -~]+$/.test(signature) || hasNoText;
  return signatures.find(({ bytes, at = 0 }) => head.startsWith(bytes, at) && isSure(bytes)) ?? null;
}
