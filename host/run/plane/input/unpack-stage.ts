/** Decompresses each message of a source before anything else sees it. The input is in frames, cut anywhere. */
import { type CompressionName, compressions } from '../../../base/bytes/compression.js';
import { reasonOf } from '../../../base/errors.js';
import { FrameBuffer, isFailure, nextFrame } from '../../../connectors/messages/frames.js';
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';

const nothing = Buffer.alloc(0);
/** Most bytes that go on together, unless one message has more. */
const mostTogether = 1024 * 1024;

export class UnpackStage extends PassingStage<Input> {
  /** The begin of a frame. */
  #rest: Buffer = nothing;
  readonly #frames = new FrameBuffer();

  /**
   * @param maxBytes of a message
   * @param failed a message can't be decompressed: it is left out
   * @param unpacked each message was decompressed, or is dropped
   */
  constructor(
    private readonly method: CompressionName,
    private readonly maxBytes: number,
    private readonly failed: (reason: string) => void,
    private readonly unpacked: (isDropped: boolean) => void = () => {},
  ) {
    super();
  }

  write({ bytes, ...input }: Input): boolean {
    const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const all = this.#rest.length === 0 ? given : Buffer.concat([this.#rest, given]);
    let isTaken = true;
    let at = 0;
    for (let frame = nextFrame(all, at); frame !== undefined && isTaken; frame = nextFrame(all, at)) {
      at = frame.end;
      this.#unpack(frame);
      const isLast = input.isLast && at === all.length;
      if (this.#frames.sizeBytes > mostTogether) isTaken = this.#pass({ ...input, isLast });
    }
    this.#rest = at === all.length ? nothing : Buffer.from(all.subarray(at));
    return isTaken && this.#pass(input);
  }

  #unpack({ payload, meta }: { readonly payload: Buffer; readonly meta: Buffer }): void {
    if (isFailure(meta)) {
      this.#frames.add(payload, meta);
      return;
    }
    try {
      this.#frames.add(compressions[this.method].decompress(payload, this.maxBytes), meta);
      this.unpacked(false);
    } catch (error) {
      this.unpacked(true);
      this.failed(`a message can't be decompressed by ${this.method}: ${reasonOf(error)}`);
    }
  }

  #pass(input: Omit<Input, 'bytes'>): boolean {
    if (this.#frames.count === 0) return true;
    try {
      return this.next.write({ ...input, bytes: this.#frames.bytes });
    } finally {
      this.#frames.clear();
    }
  }

  override close(): void {
    this.#rest = nothing;
  }
}
