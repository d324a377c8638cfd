/** Text on the state of a rule that goes over to another definition of it. */
import type { KeptChanges, KeptList, KeptMember, KeptOperator } from '../../model/kept.js';

/** Compares what was kept with what the rule keeps from now on. */
export function keptChanges(before: Iterable<KeptOperator>, after: Iterable<KeptOperator>): KeptChanges {
  const changes = new Changes(visible(before), visible(after));
  return { kept: changes.kept, lost: changes.lost, empty: changes.empty };
}

class Changes {
  readonly kept: string[] = [];
  readonly lost: string[] = [];
  readonly empty: string[] = [];
  /** Operators that take over what one of the old has. */
  readonly #heirs = new Map<KeptOperator, KeptOperator>();

  constructor(
    private readonly olds: readonly KeptOperator[],
    private readonly news: readonly KeptOperator[],
  ) {
    for (const old of olds) {
      // Functions may be divided among operators otherwise since.
      if (hasFunctions(old)) continue;
      const heir = news.find((one) => one.identity === old.identity && !this.#heirs.has(one));
      if (heir !== undefined) this.#heirs.set(heir, old);
    }
    const inherited = new Set(this.#heirs.values());
    for (const old of olds) {
      if (hasFunctions(old)) this.#functionsOf(old);
      else if (inherited.has(old)) this.kept.push(old.what);
      else this.lost.push(`${old.what}: ${this.#reason(old, (one) => one.what === old.what && !this.#heirs.has(one))}`);
    }
    for (const one of news) {
      if (hasFunctions(one)) this.#newFunctionsOf(one);
      else this.#newOf(one, this.#heirs.get(one));
    }
  }

  #functionsOf(old: KeptOperator): void {
    for (const { key, text } of listOf(old, 'functions')) {
      const has = (one: KeptOperator) => listOf(one, 'functions').some((member) => member.key === key);
      if (this.news.some((one) => one.identity === old.identity && has(one))) this.kept.push(text);
      else this.lost.push(`${text}: ${this.#reason(old, has)}`);
    }
  }

  #newFunctionsOf(one: KeptOperator): void {
    // The loss of a known function's state is listed already.
    const known = this.olds.flatMap((old) => listOf(old, 'functions'));
    for (const { text } of missing(listOf(one, 'functions'), known)) this.empty.push(text);
  }

  #newOf(one: KeptOperator, old: KeptOperator | undefined): void {
    if (old === undefined) {
      if (!this.olds.some(({ what }) => what === one.what)) this.empty.push(one.what);
      return;
    }
    for (const { text } of missing(listOf(old, 'aggregates'), listOf(one, 'aggregates'))) {
      this.lost.push(`${text} of ${old.holder}: the statement has it no more`);
    }
    const fresh = [
      ...missing(listOf(one, 'values'), listOf(old, 'values')),
      ...missing(listOf(one, 'aggregates'), listOf(old, 'aggregates')),
    ];
    for (const text of new Set(fresh.map((member) => member.text))) this.empty.push(`${text} of ${one.holder}`);
  }

  /** Why nothing takes over what an operator has; `isSame`: of those that do the same with other rows. */
  #reason(old: KeptOperator, isSame: (one: KeptOperator) => boolean): string {
    const other = this.news.find(isSame);
    if (other === undefined) return 'the statement has it no more';
    const [then, now] = [old.rows.join(' '), other.rows.join(' ')];
    if (then === now) return 'what it has does not fit what it does now';
    return `it has seen the rows ${then}, and will see the rows ${now}`;
  }
}

/** Operators whose state a user would miss. */
function visible(operators: Iterable<KeptOperator>): KeptOperator[] {
  return [...operators].filter(({ isSilent }) => isSilent !== true);
}

function hasFunctions({ lists }: KeptOperator): boolean {
  return lists.some(({ of }) => of === 'functions');
}

function listOf({ lists }: KeptOperator, of: KeptList['of']): readonly KeptMember[] {
  return lists.filter((list) => list.of === of).flatMap(({ members }) => members);
}

function missing(members: readonly KeptMember[], among: readonly KeptMember[]): KeptMember[] {
  const keys = new Set(among.map(({ key }) => key));
  return members.filter(({ key }) => !keys.has(key));
}
