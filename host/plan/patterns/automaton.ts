/**
 * The pattern as steps of an automaton, whose ways are tried in the order of preference (assembly/pattern/search.ts).
 * Repetitions with bounds are written out.
 */
import type { PatternStepPlan } from '../../../kernels/nodes/pattern.js';
import type { PatternPart } from '../../sql/ast.js';
import { patternErrors } from '../errors/pattern.js';
import type { Variables } from './variables.js';

/** Each partial match looks at a few of them; all are looked at where many are optional. */
const mostSteps = 10_000;

export interface Automaton {
  readonly steps: readonly PatternStepPlan[];
  /** Variables with which a match may begin; null: it may be empty. */
  readonly first: readonly number[] | null;
  /** Time of NOT at the end, 0 without it. */
  readonly absentMs: number;
}

export function automatonOf(pattern: PatternPart, variables: Variables): Automaton {
  const compiler = new Compiler(variables);
  const parts = pattern.kind === 'sequence' ? pattern.parts : [pattern];
  const last = parts.at(-1);
  const absent = last?.kind === 'absent' ? last : null;
  const body: PatternPart = { kind: 'sequence', parts: absent === null ? parts : parts.slice(0, -1) };
  compiler.add(body, false);
  if (absent !== null) {
    if (compiler.firsts() === null) throw patternErrors.absentAlone(absent.name, absent.span);
    compiler.push({ op: 'absent', a: variables.indexOf(absent.name, 'PATTERN', absent.span) });
  }
  const first = compiler.firsts();
  compiler.push({ op: 'match' });
  return { steps: compiler.steps, first, absentMs: absent?.withinMs ?? 0 };
}

class Compiler {
  readonly steps: PatternStepPlan[] = [];

  constructor(private readonly variables: Variables) {}

  push(step: PatternStepPlan): number {
    if (this.steps.length >= mostSteps) throw patternErrors.tooLong(mostSteps);
    return this.steps.push(step) - 1;
  }

  add(part: PatternPart, isExcluded: boolean): void {
    switch (part.kind) {
      case 'variable':
        this.push({ op: 'row', a: this.variables.indexOf(part.name, 'PATTERN'), b: isExcluded ? 1 : 0 });
        return;
      case 'sequence':
        for (const one of part.parts) this.add(one, isExcluded);
        return;
      case 'choice':
        this.#choice(part.options.map((one) => () => this.add(one, isExcluded)));
        return;
      case 'excluded':
        this.add(part.of, true);
        return;
      case 'permute':
        this.#permute(part.of, isExcluded);
        return;
      case 'absent':
        throw patternErrors.absentNotLast(part.name, part.span);
      case 'repeat':
        this.#repeat(part, isExcluded);
    }
  }

  /** Alternatives, the preferred one first. */
  #choice(options: readonly (() => void)[]): void {
    const ends: PatternStepPlan[] = [];
    options.forEach((add, i) => {
      if (i === options.length - 1) {
        add();
        return;
      }
      const split: PatternStepPlan = { op: 'split', a: this.steps.length + 1 };
      this.push(split);
      add();
      const end: PatternStepPlan = { op: 'jump' };
      this.push(end);
      ends.push(end);
      split.b = this.steps.length;
    });
    for (const end of ends) end.a = this.steps.length;
  }

  #repeat({ of, least, most, isReluctant }: Extract<PatternPart, { kind: 'repeat' }>, isExcluded: boolean): void {
    for (let i = 0; i < least; i++) this.add(of, isExcluded);
    const splits: PatternStepPlan[] = [];
    const optional = (): number => {
      const split: PatternStepPlan = { op: 'split' };
      const at = this.push(split);
      splits.push(split);
      this.add(of, isExcluded);
      if (isReluctant) split.b = at + 1;
      else split.a = at + 1;
      return at;
    };
    if (most === null) this.push({ op: 'jump', a: optional() });
    else for (let i = least; i < most; i++) optional();
    for (const split of splits) {
      if (isReluctant) split.a = this.steps.length;
      else split.b = this.steps.length;
    }
  }

  /** All orders of the parts, as written before others; what is left to come is the same on many ways. */
  #permute(parts: readonly PatternPart[], isExcluded: boolean): void {
    const known = new Map<number, number>();
    const ends: PatternStepPlan[] = [];
    const rest = (left: number): void => {
      const before = known.get(left);
      if (before !== undefined) {
        this.push({ op: 'jump', a: before });
        return;
      }
      known.set(left, this.steps.length);
      if (left === 0) {
        const end: PatternStepPlan = { op: 'jump' };
        this.push(end);
        ends.push(end);
        return;
      }
      const next = parts.flatMap((part, i) => ((left >> i) & 1 ? [{ part, i }] : []));
      this.#choice(
        next.map(({ part, i }) => () => {
          this.add(part, isExcluded);
          rest(left & ~(1 << i));
        }),
      );
    };
    rest((1 << parts.length) - 1);
    for (const end of ends) end.a = this.steps.length;
  }

  /** Variables with which what is there may begin; null where it may be empty. */
  firsts(): number[] | null {
    const found = new Set<number>();
    const seen = new Set<number>();
    const pending = [0];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const step = this.steps[at];
      if (step === undefined || step.op === 'match' || step.op === 'absent') return null;
      if (step.op === 'row') found.add(step.a ?? 0);
      else pending.push(step.a ?? 0, ...(step.op === 'split' ? [step.b ?? 0] : []));
    }
    return [...found];
  }
}
