/** Makes the messages of a sink of what the kernel has written: values of its properties, its format, its seal. */
import type { OutputChunk } from '../../../../kernels/api.js';
import { reasonOf } from '../../../base/errors.js';
import type { Encoder, Unmade } from '../../../codecs/define.js';
import type { Targeted, Targets } from './targets.js';

type Values = Readonly<Record<string, unknown>>;

/** Takes what became of the messages of a chunk, in their order. */
export interface MessageTaker {
  /** Messages, those that they were made of, and the values of properties that are templates. */
  made(chunk: OutputChunk, of: OutputChunk, values: Values | undefined): void;
  /** Messages whose properties could not be rendered: they are lost. */
  unrendered(chunk: OutputChunk, reason: string): void;
  /** A message that could not be encoded. */
  unmade(...failure: Parameters<Unmade>): void;
  /** Signal that is set when nobody waits for messages any more. */
  readonly ending: AbortSignal;
}

export class SinkMessages {
  constructor(
    private readonly targets: Targets | undefined,
    private readonly encoder: Encoder | undefined,
    private readonly taker: MessageTaker,
  ) {}

  /** Tells that another thread makes messages. */
  get isLate(): boolean {
    return this.encoder?.encodeLater !== undefined;
  }

  /** Number of messages in a chunk. */
  count(chunk: OutputChunk): number {
    return this.targets?.count(chunk) ?? chunk.messages;
  }

  make(chunk: OutputChunk): void {
    if (this.targets === undefined) this.#encode({ chunk });
    else for (const part of this.targets.of(chunk)) this.#encode(part);
  }

  #encode(part: Targeted | { readonly chunk: OutputChunk }): void {
    const { encoder, taker } = this;
    if ('lost' in part) {
      taker.unrendered(part.lost, part.reason);
      return;
    }
    const made = encoder?.encode(part.chunk, (reason, message) => taker.unmade(reason, message));
    taker.made(made ?? part.chunk, part.chunk, valuesOf(part));
  }

  /** Begins to make messages; what it resolves with gives them to the taker. */
  async makeLater(chunk: OutputChunk): Promise<() => void> {
    const { encoder, taker } = this;
    const steps = await Promise.all(
      [...this.#partsOf(chunk)].map(async (part): Promise<() => void> => {
        if ('lost' in part) return () => taker.unrendered(part.lost, part.reason);
        const unmade: Parameters<Unmade>[] = [];
        try {
          const made = await encoder?.encodeLater?.(part.chunk, (...one) => unmade.push(one));
          return () => {
            for (const one of unmade) taker.unmade(...one);
            taker.made(made ?? part.chunk, part.chunk, valuesOf(part));
          };
        } catch (error) {
          return () => taker.unrendered(part.chunk, reasonOf(error));
        }
      }),
    );
    return () => {
      for (const step of steps) step();
    };
  }

  #partsOf(chunk: OutputChunk): Iterable<Targeted | { readonly chunk: OutputChunk }> {
    return this.targets?.of(chunk) ?? [{ chunk }];
  }
}

function valuesOf(part: Targeted | { readonly chunk: OutputChunk }): Values | undefined {
  return 'values' in part ? part.values : undefined;
}
