/** Takes the messages of Neuron; those of one turn go on together. While the sinks are full, it does not read. */
import { PairPool, type SharedPair } from '../../clients/sp/pair.js';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';

/** What is gathered in one turn at most, bytes. */
const maxGathered = 1 << 20;
/** A message that is traced begins with these bytes, the id of the trace and that of the span. */
const traceMark = Buffer.from([0x0a, 0xce]);
const traceBytes = 26;

export class NeuronSource implements Source {
  readonly peer: string;
  readonly #pair: SharedPair;
  readonly #frames = new FrameBuffer();
  #isScheduled = false;
  #isClosed = false;
  readonly #user = {
    lost: (reason: string) => {
      this.#flush();
      if (!this.#isClosed) this.context.disconnected(reason);
    },
    take: (message: Buffer) => this.#take(message),
  };

  constructor(
    url: string,
    readonly context: SourceContext,
  ) {
    this.peer = `nng ${url}`;
    this.#pair = context.shared('sp.pairs', () => new PairPool()).take(url);
    context.onFlow(
      () => this.#pair.flow(this.#user, true),
      () => this.#pair.flow(this.#user, false),
    );
  }

  async open(): Promise<void> {
    await this.#pair.open(this.#user);
    if (!this.#isClosed) this.#pair.flow(this.#user, this.context.isFull);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pair.giveBack(this.#user);
  }

  #take(message: Buffer): void {
    if (this.#isClosed) return;
    const isTraced = message.length > traceBytes && message.subarray(0, 2).equals(traceMark);
    if (isTraced) this.#frames.add(message.subarray(traceBytes), traceOf(message));
    else this.#frames.add(message);
    if (this.#frames.sizeBytes >= maxGathered) this.#flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.#flush());
    }
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#isClosed || this.#frames.count === 0) return;
    this.context.write(this.#frames.bytes);
    this.#frames.clear();
  }
}

function traceOf(message: Buffer): Buffer {
  const [trace, span] = [message.toString('hex', 2, 18), message.toString('hex', 18, traceBytes)];
  return Buffer.from(JSON.stringify({ traceparent: `00-${trace}-${span}-01` }));
}
