/** Meanings of values, as 64 bits: equal in each plan that has the values, whatever their numbers are there. */
import { Identity } from '../../../kernels/state/identity.js';
import { hostFunctionName } from '../../functions/registry.js';
import { constKey, type Value } from '../values/value.js';
import type { PlanParts } from './batches.js';

export class Meaning {
  readonly #known = new Map<Value, bigint>();
  /** Names of sources; one that is read twice has two. */
  readonly #sources: readonly string[];
  readonly #calls: ReadonlyMap<number, string>;

  constructor(names: readonly string[], { brought = [] }: PlanParts) {
    this.#sources = names.map((name, i) => `${name} ${names.slice(0, i).filter((other) => other === name).length}`);
    this.#calls = new Map(brought);
  }

  /** Name of a source, unique in the rule. */
  source(index: number): string {
    return this.#sources[index] ?? '';
  }

  /** Name of a function of the host: numbers of those of users change with each start. */
  call(number: number): string {
    return this.#calls.get(number) ?? hostFunctionName(number);
  }

  of(value: Value): bigint {
    const before = this.#known.get(value);
    if (before !== undefined) return before;
    const meaning = this.#make(value);
    this.#known.set(value, meaning);
    return meaning;
  }

  /** Meaning of several parts together, 64 bits. */
  together(...parts: readonly (string | number | boolean | bigint | null | Value | readonly Value[])[]): bigint {
    const identity = new Identity();
    const add = (part: (typeof parts)[number]): void => {
      if (typeof part === 'bigint') identity.number(1).identity(part);
      else if (part === null || typeof part !== 'object') identity.number(2).text(String(part));
      else if (Array.isArray(part)) {
        identity.number(part.length);
        for (const one of part as readonly Value[]) add(one);
      } else identity.number(1).identity(this.of(part as Value));
    };
    for (const part of parts) add(part);
    return identity.value();
  }

  /** Types of columns are no part of it: values bring theirs. */
  #make(value: Value): bigint {
    switch (value.kind) {
      case 'const':
        return this.together('const', constKey(value.value));
      case 'column': {
        const { use } = value;
        const name = use.kind === 'field' ? use.name : use.kind === 'meta' ? use.key : '';
        return this.together('column', this.source(value.source), use.kind, name);
      }
      case 'op': {
        const { op, operands, args, imm } = value;
        const given = operands.map((operand) => (operand === null ? 0n : this.of(operand)));
        return this.together('op', op, op === 'call.host' ? this.call(imm) : imm, ...given, args);
      }
      case 'aggregate':
        return this.together(
          'aggregate',
          value.fn,
          value.args,
          value.filter,
          value.call === 0 ? '' : this.call(value.call),
        );
      case 'analytic': {
        const { fn, args, size, partition, when } = value;
        return this.together('analytic', fn, fn === 'user' ? this.call(size) : size, args, partition, when);
      }
      case 'hit':
        return this.together('hit', value.part, value.isAfterWindow);
      case 'late':
      case 'window':
        return this.together(value.kind, value.part);
      case 'item':
        return this.together('item');
      case 'ranges':
        return this.together('ranges', value.begin, value.end, value.now, value.expireMs);
      default:
        return value satisfies never;
    }
  }
}
