/** Cuts what a program writes into images, JPEG or PNG, by their own marks. */

const nothing = Buffer.alloc(0);
/** Longest image; the kernel takes no longer messages. */
const mostBytes = 16 * 1024 * 1024;

const start = Buffer.of(0xff, 0xd8);
const pngStart = Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const scan = 0xda;
const end = 0xd9;

export class ImageSplitter {
  #rest: Buffer = nothing;
  /** Place up to which the image was looked at: a marker or chunk begins there. */
  #at = 0;

  /** @param codec of ffmpeg */
  constructor(private readonly codec: string) {}

  /** The images that are complete with the chunk; views that are valid until the next call. */
  *add(chunk: Buffer): Generator<Buffer> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const isPng = this.codec === 'png';
    for (;;) {
      const begin = bytes.indexOf(isPng ? pngStart : start);
      if (begin < 0) {
        // The begin may be cut.
        bytes = bytes.subarray(Math.max(0, bytes.length - pngStart.length + 1));
        break;
      }
      if (begin > 0) bytes = bytes.subarray(begin);
      const size = isPng ? this.#pngEnd(bytes) : this.#jpegEnd(bytes);
      if (size === undefined) break;
      this.#at = 0;
      yield bytes.subarray(0, size);
      bytes = bytes.subarray(size);
    }
    if (bytes.length > mostBytes) throw new Error(`an image has more than ${mostBytes} bytes`);
    this.#rest = Buffer.from(bytes);
  }

  /** Size of the image; undefined while it is not whole. */
  #jpegEnd(bytes: Buffer): number | undefined {
    let at = Math.max(this.#at, start.length);
    while (at + 4 <= bytes.length || (bytes[at] === 0xff && bytes[at + 1] === end)) {
      const marker = bytes[at + 1]!;
      if (bytes[at] !== 0xff) throw new Error('a JPEG image is damaged');
      if (marker === end) return at + 2;
      if (marker === 0xff) at++;
      else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) at += 2;
      else {
        const next = at + 2 + bytes.readUInt16BE(at + 2);
        const after = marker === scan ? markerFrom(bytes, next) : next;
        if (after > bytes.length) break;
        at = after;
      }
      this.#at = at;
    }
    return undefined;
  }

  #pngEnd(bytes: Buffer): number | undefined {
    let at = Math.max(this.#at, pngStart.length);
    while (at + 12 <= bytes.length) {
      const isEnd = bytes.toString('latin1', at + 4, at + 8) === 'IEND';
      const next = at + 12 + bytes.readUInt32BE(at);
      if (next > mostBytes) throw new Error('a PNG image is damaged');
      if (next > bytes.length) break;
      at = next;
      this.#at = at;
      if (isEnd) return at;
    }
    return undefined;
  }
}

/** The next marker within the data of a scan; beyond the end while it is not there. */
function markerFrom(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at >= 0 && at + 1 < bytes.length; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1]!;
    if (next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at;
  }
  return bytes.length + 1;
}
