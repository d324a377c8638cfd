/**
 * Properties of a sink that are templates over the row. Each message gets values of its own; neighbours with equal
 * values stay together, so that a sink is called for each run of them.
 */
import type { OutputChunk } from '../../../../kernels/api.js';
import type { OutputPlan } from '../../../../kernels/plan/ir.js';
import { reasonOf } from '../../../base/errors.js';
import { parse, type Spec } from '../../../base/fields/field.js';
import { PropertyTemplates } from '../../../template/properties.js';
import { readJson, type Value } from '../../../template/value.js';

/** Messages with their values, or the reason why there are none. */
export type Targeted =
  | { readonly chunk: OutputChunk; readonly values: Readonly<Record<string, unknown>> }
  | { readonly lost: OutputChunk; readonly reason: string };

export interface TargetsOptions {
  /** Names the sink in errors. */
  readonly label: string;
  /** Properties of the sink. */
  readonly spec: Spec;
  /** The templates, by property. */
  readonly templates: Readonly<Record<string, unknown>>;
  /** Plan of the output that the kernel writes. */
  readonly output: Pick<OutputPlan, 'head'>;
  /** Templates see one row, not a list. */
  readonly isSingle: boolean;
}

/** Messages beside each other in a chunk, from place to place in its ends. */
interface Run {
  readonly from: number;
  to: number;
  readonly key: string;
}

export class Targets {
  readonly #templates: PropertyTemplates;
  readonly #spec: Spec;
  readonly #hasHeads: boolean;

  constructor(private readonly options: TargetsOptions) {
    const { spec, templates, output } = options;
    this.#templates = new PropertyTemplates(templates);
    this.#spec = Object.fromEntries(
      Object.keys(templates).flatMap((name) => (spec[name] === undefined ? [] : [[name, spec[name].rendered()]])),
    );
    this.#hasHeads = output.head !== undefined;
  }

  /** Number of messages in a chunk. */
  count(chunk: OutputChunk): number {
    return this.#hasHeads ? chunk.messages / 2 : chunk.messages;
  }

  /** The messages of a chunk in their order. */
  *of(chunk: OutputChunk): Generator<Targeted> {
    const step = this.#hasHeads ? 2 : 1;
    const ends = chunk.ends ?? [];
    const bytes = Buffer.from(chunk.bytes.buffer, chunk.bytes.byteOffset, chunk.bytes.length);
    let rendered: Record<string, unknown> | undefined;
    let run: Run | undefined;
    for (let place = 0; place < ends.length; place += step) {
      const from = place === 0 ? 0 : ends[place - 1]!;
      const text = bytes.toString('utf8', from, ends[place]);
      let values: Record<string, unknown>;
      try {
        values = this.#templates.render(this.#dataOf(text, chunk.errors.has(place + step - 1)));
      } catch (error) {
        if (run !== undefined) yield this.#part(chunk, bytes, run, rendered!);
        run = undefined;
        const lost = this.#cut(chunk, bytes, place, place + step);
        yield { lost, reason: `${this.options.label}: ${reasonOf(error)}` };
        continue;
      }
      const key = JSON.stringify(values);
      if (run?.key === key) {
        run.to = place + step;
        continue;
      }
      if (run !== undefined) yield this.#part(chunk, bytes, run, rendered!);
      run = { from: place, to: place + step, key };
      rendered = values;
    }
    if (run !== undefined) yield this.#part(chunk, bytes, run, rendered!);
  }

  /** Data of a message for templates: its row, or the list of its rows; for a batch the rows of its last message. */
  #dataOf(text: string, isError: boolean): Value {
    const value: Value = isError ? { error: text } : readJson(text);
    const rows = Array.isArray(value) ? value : [value];
    return this.options.isSingle ? rows.at(-1) : rows;
  }

  #part(chunk: OutputChunk, bytes: Buffer, { from, to }: Run, rendered: Record<string, unknown>): Targeted {
    const { label } = this.options;
    const cut = this.#cut(chunk, bytes, from, to);
    try {
      return { chunk: cut, values: parse(this.#spec, rendered, { where: label }) };
    } catch (error) {
      return { lost: cut, reason: reasonOf(error) };
    }
  }

  /** The messages from one place to another as a chunk, without heads. */
  #cut(chunk: OutputChunk, bytes: Buffer, from: number, to: number): OutputChunk {
    const ends = chunk.ends!;
    const start = from === 0 ? 0 : ends[from - 1]!;
    const own: number[] = [];
    const errors = new Set<number>();
    const parts: Buffer[] = [];
    let length = 0;
    const step = this.#hasHeads ? 2 : 1;
    for (let last = from + step - 1; last < to; last += step) {
      const begin = last === 0 ? 0 : ends[last - 1]!;
      if (chunk.errors.has(last)) errors.add(own.length);
      length += ends[last]! - begin;
      own.push(length);
      if (this.#hasHeads) parts.push(bytes.subarray(begin, ends[last]));
    }
    const isWhole = from === 0 && to === ends.length;
    return {
      ...chunk,
      bytes: this.#hasHeads ? Buffer.concat(parts, length) : bytes.subarray(start, start + length),
      ends: Uint32Array.from(own),
      messages: own.length,
      rows: isWhole ? chunk.rows : own.length - errors.size,
      errors,
    };
  }
}
