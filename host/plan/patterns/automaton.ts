/**
 * The pattern as steps of an automaton, whose ways are tried in the order of preference (assembly/pattern/search.ts).
 * Repetitions with bounds are written out.
 */
import type { PatternStepPlan } from '../../../kernels/nodes/pattern.js';
import type { PatternPart, Span } from '../../sql/ast.js';
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

/** `span`: the clause, for what is refused of the pattern as a whole. */
export function automatonOf(pattern: PatternPart, variables: Variables, span: Span): Automaton {
  const compiler = new Compiler(variables, span);
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
  /** Jumps behind the rows of the repetition that is written out, where they have some. */
  #jumps: PatternStepPlan[] | null = null;

  constructor(
    private readonly variables: Variables,
    private readonly span: Span,
  ) {}

  push(step: PatternStepPlan): number {
    if (this.steps.length >= mostSteps) throw patternErrors.tooLong(mostSteps, this.span);
    return this.steps.push(step) - 1;
  }

  add(part: PatternPart, isExcluded: boolean): void {
    switch (part.kind) {
      case 'variable':
        this.push({ op: 'row', a: this.variables.indexOf(part.name, 'PATTERN'), b: isExcluded ? 1 : 0 });
        if (this.#jumps !== null) this.#jumps.push(this.#jump(this.steps.length + 1));
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
    if (most === null && mayBeEmpty(of)) this.#again(of, isExcluded, isReluctant);
    else if (most === null) this.push({ op: 'jump', a: optional() });
    else for (let i = least; i < most; i++) optional();
    for (const split of splits) {
      if (isReluctant) split.a = this.steps.length;
      else split.b = this.steps.length;
    }
  }

  #jump(to: number): PatternStepPlan {
    const step: PatternStepPlan = { op: 'jump', a: to };
    this.push(step);
    return step;
  }

  /**
   * Any number of repetitions of what may take no row. Each must take one, or they would go on for ever: `of` is
   * written out twice, once for as long as no row was taken, which leads nowhere, and once for what comes behind its
   * first row.
   */
  #again(of: PatternPart, isExcluded: boolean, isReluctant: boolean): void {
    const outer = this.#jumps;
    const copy = (): PatternStepPlan[] => {
      this.#jumps = [];
      this.add(of, isExcluded);
      return this.#jumps;
    };
    const split: PatternStepPlan = { op: 'split' };
    const begin = this.push(split);
    const without = copy();
    this.#jump(this.steps.length);
    const beyond = copy();
    this.#jump(begin);
    without.forEach((jump, i) => {
      jump.a = this.steps.indexOf(beyond[i]!);
    });
    const end = this.steps.length;
    Object.assign(split, isReluctant ? { a: end, b: begin + 1 } : { a: begin + 1, b: end });
    this.#jumps = outer;
    outer?.push(...without, ...beyond);
  }

  /**
   * All orders of the parts, the one as written first; what is left to come is the same on many ways. Orders that begin
   * with the same part have it in common only where it takes rows in one way: otherwise all ways of the part are tried
   * for the first of these orders before the next one.
   */
  #permute(parts: readonly PatternPart[], isExcluded: boolean): void {
    const known = new Map<string, number>();
    const ends: PatternStepPlan[] = [];
    const once = (left: readonly number[], isFixed: boolean, make: () => void): void => {
      const key = `${isFixed ? 'order' : 'any'} ${left.join(' ')}`;
      const before = known.get(key);
      if (before !== undefined) {
        this.push({ op: 'jump', a: before });
        return;
      }
      known.set(key, this.steps.length);
      if (left.length > 0) make();
      else ends.push(this.steps[this.push({ op: 'jump' })]!);
    };
    const fixed = (order: readonly number[]): void =>
      once(order, true, () => {
        this.add(parts[order[0]!]!, isExcluded);
        fixed(order.slice(1));
      });
    const any = (left: readonly number[]): void =>
      once(left, false, () =>
        this.#choice(
          left.flatMap((part) => {
            const others = left.filter((one) => one !== part);
            if (!takesOneWay(parts[part]!)) return ordersOf(others).map((order) => () => fixed([part, ...order]));
            return [
              () => {
                this.add(parts[part]!, isExcluded);
                any(others);
              },
            ];
          }),
        ),
      );
    any(parts.map((_part, i) => i));
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

/** True for a part that may take no row. */
function mayBeEmpty(part: PatternPart): boolean {
  switch (part.kind) {
    case 'sequence':
      return part.parts.every(mayBeEmpty);
    case 'choice':
      return part.options.some(mayBeEmpty);
    case 'permute':
      return part.of.every(mayBeEmpty);
    case 'excluded':
      return mayBeEmpty(part.of);
    case 'repeat':
      return part.least === 0 || mayBeEmpty(part.of);
    default:
      return false;
  }
}

/** True for a part that takes rows in one way at most. */
function takesOneWay(part: PatternPart): boolean {
  if (part.kind === 'variable') return true;
  if (part.kind === 'sequence') return part.parts.every(takesOneWay);
  if (part.kind === 'excluded') return takesOneWay(part.of);
  return part.kind === 'repeat' && part.least === part.most && takesOneWay(part.of);
}

/** All orders, the one given first. */
function ordersOf(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) => ordersOf(items.filter((one) => one !== item)).map((rest) => [item, ...rest]));
}
