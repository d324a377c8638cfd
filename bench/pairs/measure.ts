/** Runs both sides of a pair on the same bytes, in turns, and compares what they send byte by byte. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createKernel } from '../../kernels/index.js';
import { kernelModule } from '../../kernels/module.js';
import { openRule } from '../../test/support/engine/rule-kernel.js';
import type { Pair, Piece } from './pair.js';

/** Time of the processor for a row that came in, ns: the least of all turns. */
export interface Figures {
  readonly name: string;
  readonly engine: number;
  readonly program: number;
  /** Bytes that each side keeps for a row, where the pair asks for them. */
  readonly kept?: { readonly engine: number; readonly program: number };
}

/** Buffer for the bytes that a side sends, kept as long as a socket would need them. */
export class Sent {
  #bytes = Buffer.alloc(1 << 20);
  length = 0;

  /** Makes room and returns where it is. */
  room(length: number): Buffer {
    if (this.length + length > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(Math.max(this.#bytes.length, length))]);
    }
    return this.#bytes;
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }
}

/** One side in a turn. */
interface Turn {
  take(pieces: readonly Piece[]): void;
  /** Bytes that are kept now. */
  kept(): number;
}

/** Makes the state of a side anew, untimed. */
type Side = (sent: Sent) => Turn;

export function engineSide(
  { definitions, sql, options, sink, prepare, asked }: Pair,
  module: WebAssembly.Module,
): Side {
  return (sent) => {
    const kernel = createKernel(
      {
        onOutput: ({ bytes }) => {
          sent.room(bytes.length).set(bytes, sent.length);
          sent.length += bytes.length;
        },
        onPacket: () => {},
        onAcknowledge: () => {},
        onAsk: (node, request, [keys = []], count) => {
          const rows = keys.map((key) => asked?.(key) ?? {});
          const names = Object.keys(rows[0] ?? {});
          const columns = Object.fromEntries(
            names.map((name) => [name, rows.map((row) => (row as Record<string, unknown>)[name])]),
          ) as Record<string, string[]>;
          const of = Array.from({ length: count }, (_, i) => i);
          answers.push(() => kernel.answer(node, request, { of, columns }, 0));
        },
        call: () => {
          throw new Error('functions of the host are no part of this measurement');
        },
      },
      module,
    );
    const answers: (() => void)[] = [];
    const waiting = { timeoutMs: 60_000, batches: 16, cache: { rows: 100_000, ttlMs: 0, hasMisses: true } };
    const rule = openRule(definitions, sql, { kernel, options, props: sink ?? { sendSingle: true }, waiting });
    prepare?.(rule);
    for (const answer of answers) answer();
    sent.length = 0;
    return {
      take: (pieces) => {
        for (const { stream, bytes, now } of pieces) {
          kernel.tick(now);
          if (bytes.length > 0) rule.feed(stream, bytes, now);
        }
      },
      kept: () => kernel.memory().inUse - kernel.memory().workspace,
    };
  };
}

function programSide({ program }: Pair): Side {
  return (sent) => {
    const take = program();
    return {
      take: (pieces) => {
        for (const piece of pieces) {
          const text = take(piece);
          const bytes = Buffer.byteLength(text);
          sent.room(bytes).write(text, sent.length);
          sent.length += bytes;
        }
      },
      kept: () => {
        collect();
        return process.memoryUsage().heapUsed;
      },
    };
  };
}

/** First difference of two outputs, with the text around it. */
function difference(one: Buffer, other: Buffer): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const around = (bytes: Buffer) => bytes.subarray(Math.max(0, at - 200), at + 60).toString();
  return `bytes ${one.length} and ${other.length}, different at ${at}:\n  ${around(one)}\n  ${around(other)}`;
}

setFlagsFromString('--expose-gc');
/** Collects garbage: what one side leaves is not to be cleared away in the time of the other. */
const collect = runInNewContext('gc') as () => void;

/** Bytes that a side keeps more when it has taken the pieces. */
function keptFor(turn: Turn, pieces: readonly Piece[]): number {
  const before = turn.kept();
  turn.take(pieces);
  return turn.kept() - before;
}

/** Measures a pair; throws when the two sides do not send the same. */
export function measure(pair: Pair, rounds: number, module = kernelModule()): Figures {
  const { rows } = pair;
  const pieces = pair.input(rows);
  const sides = [engineSide(pair, module), programSide(pair)].map((side) => ({
    side,
    sent: new Sent(),
    least: Number.POSITIVE_INFINITY,
  }));
  const [engine, program] = sides as [(typeof sides)[0], (typeof sides)[0]];
  for (let round = 0; round < rounds; round++) {
    for (const one of sides) {
      const turn = one.side(one.sent);
      collect();
      const begun = process.cpuUsage();
      turn.take(pieces);
      const { user, system } = process.cpuUsage(begun);
      one.least = Math.min(one.least, ((user + system) * 1000) / rows);
    }
    if (!engine.sent.bytes().equals(program.sent.bytes())) {
      throw new Error(
        `${pair.name}: the engine and the program differ, ${difference(engine.sent.bytes(), program.sent.bytes())}`,
      );
    }
    engine.sent.length = 0;
    program.sent.length = 0;
  }
  const figures = { name: pair.name, engine: engine.least, program: program.least };
  if (!pair.holds) return figures;
  const held = pieces.slice(0, pieces.length * pair.holds);
  const [ofEngine, ofProgram] = sides.map(({ side, sent }) => keptFor(side(sent), held));
  return { ...figures, kept: { engine: ofEngine! / (rows * pair.holds), program: ofProgram! / (rows * pair.holds) } };
}
