/** Calls of the kernel that took long: all rules wait meanwhile, so the rule that it was for is named. */
import type { Logger } from '../base/log.js';
import { operatorOf, rulesWith } from './notices.js';
import type { RuleRun } from './rule-run.js';

/** A call that takes so long is told, ms. */
export const longCallMs = 1000;

/** Long calls for a rule. */
export interface LongCalls {
  count: number;
  /** The longest of them: time, operator, rows that came to it (none for a timer). */
  ms: number;
  operator: string;
  rows: number;
}

/** Operators that gather rows and send many at once: below one of these it is hardly another that takes the time. */
const gathering: ReadonlySet<string> = new Set(['window', 'join', 'sort']);

/**
 * Counts a call of `ms` for the rule that took most of it, and logs it; a rule that does so again and again has a line for
 * each that is twice as long as those before.
 */
export function noteLongCall(ms: number, whose: ReadonlySet<RuleRun>, log: Logger): void {
  const [any] = whose;
  const longest = any?.host.kernel.longest();
  const isKnown = longest != null && longest.us / 1000 > ms / 2;
  const rules = isKnown ? rulesWith(longest.node, whose) : whose.size === 1 ? [...whose] : [];
  if (rules.length === 0) {
    log.warn(`a call of the kernel took ${Math.round(ms)} ms for ${whose.size} rules together`);
    return;
  }
  for (const rule of rules) {
    const calls = rule.longCalls ?? { count: 0, ms: 0, operator: '', rows: 0 };
    const isLonger = ms >= 2 * calls.ms;
    const operator = isKnown ? busyOperator(rule, longest.node) : '';
    const rows = isKnown ? longest.rows : 0;
    const isLongest = ms > calls.ms;
    rule.longCalls = { count: calls.count + 1, ...(isLongest ? { ms: Math.round(ms), operator, rows } : rest(calls)) };
    if (!isLonger) continue;
    rule.log.warn(
      `${operator === '' ? 'the rule' : operator} kept the kernel for ${Math.round(ms)} ms` +
        `${rows > 0 ? ` with ${rows.toLocaleString('en')} rows` : ''}; all rules waited meanwhile, explain may say why`,
    );
  }
}

function rest({ ms, operator, rows }: LongCalls): Omit<LongCalls, 'count'> {
  return { ms, operator, rows };
}

/** The operator at or below the node that gathers rows, or that of the node. */
function busyOperator(rule: RuleRun, node: number): string {
  const own = rule.nodes.find(({ handle }) => handle === node);
  const busy = own !== undefined && gathering.has(own.kind) ? own : rule.nodes.find(({ kind }) => gathering.has(kind));
  return operatorOf(rule, (busy ?? own)?.handle ?? node);
}
