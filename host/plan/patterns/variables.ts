/** Variables of a pattern, and the subsets of them that expressions name. */
import { nearest } from '../../base/text/nearest.js';
import type { PatternClause, PatternPart, Span } from '../../sql/ast.js';
import { patternErrors } from '../errors/pattern.js';

/** The kernel has a bit for each. */
const mostVariables = 64;

export class Variables {
  /** Names in the order in which PATTERN has them first. */
  readonly names: string[] = [];
  private readonly sets = new Map<string, readonly number[]>();

  constructor({ pattern, subsets, span }: Pick<PatternClause, 'pattern' | 'subsets' | 'span'>) {
    this.#collect(pattern);
    if (this.names.length === 0) throw patternErrors.noVariable(span);
    this.names.forEach((name, i) => {
      this.sets.set(name, [i]);
    });
    for (const { name, of, span } of subsets) {
      if (this.sets.has(name)) throw patternErrors.subsetNamedTwice(name, span);
      const members = of.map((one) => this.indexOf(one.name, 'SUBSET', one.span));
      this.sets.set(name, [...new Set(members)]);
    }
  }

  /** All variables: those of a name without a qualifier. */
  get all(): readonly number[] {
    return this.names.map((_name, i) => i);
  }

  /** Number of a variable of PATTERN. */
  indexOf(name: string, clause: string, span?: Span): number {
    const index = this.names.indexOf(name);
    const set = index < 0 ? this.sets.get(name) : undefined;
    if (set !== undefined) {
      const of = set.map((one) => this.names[one]!);
      throw patternErrors.subsetIsNone(name, clause, of, span);
    }
    if (index < 0) throw patternErrors.notInPattern(name, clause, nearest(name, this.names), span);
    return index;
  }

  /** The variables that a name stands for; undefined for another name. */
  named(name: string): readonly number[] | undefined {
    return this.sets.get(name);
  }

  /** As `named`, for a name that must be known. */
  setOf(name: string, clause: string, span?: Span): readonly number[] {
    const found = this.sets.get(name);
    if (found === undefined) throw patternErrors.notInPattern(name, clause, nearest(name, this.sets.keys()), span);
    return found;
  }

  /** The variable or subset that a name was probably meant as. */
  meantBy(name: string): string | undefined {
    return nearest(name, this.sets.keys());
  }

  #collect(part: PatternPart): void {
    switch (part.kind) {
      case 'variable':
      case 'absent':
        if (this.names.includes(part.name)) return;
        if (this.names.length === mostVariables) throw patternErrors.tooManyVariables(mostVariables, part.span);
        this.names.push(part.name);
        return;
      case 'sequence':
        part.parts.forEach((one) => {
          this.#collect(one);
        });
        return;
      case 'choice':
        part.options.forEach((one) => {
          this.#collect(one);
        });
        return;
      case 'permute':
        part.of.forEach((one) => {
          this.#collect(one);
        });
        return;
      default:
        this.#collect(part.of);
    }
  }
}
