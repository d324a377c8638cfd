/** Calls of the kernel that took long: all rules wait meanwhile, so those that it was for are named. */
import type { TimeInWork } from '../../../../kernels/api.js';
import { worksOnMany } from '../../../../kernels/traits.js';
import type { Logger } from '../../../base/log/log.js';
import { placeOf } from '../running/rule-groups.js';
import type { RunningRule } from '../running/running.js';
import { operatorOf } from './notices.js';

/** A call that takes so long is told, ms. */
export const longCallMs = 1000;

/** Part of a rule in a call. */
interface Share {
  readonly rule: RunningRule;
  readonly us: number;
  readonly operator: string;
  readonly rows: number;
}

/** Rules that have a line each; more of them share one. */
const maxLines = 5;

/**
 * Counts a call of `ms` for the rules that took most of it, and logs it; a rule that does so again and again has a line
 * for each that is twice as long as those before. Where it is not known who took the time, that is all that the call
 * was for: `whose`, and of these without `isFed`, when timers were at work, those with one that was due.
 */
export function noteLongCall(ms: number, whose: ReadonlySet<RunningRule>, isFed: boolean, log: Logger): void {
  const times = new Map<number, number>();
  const shares = [...whose].filter(({ nodes }) => nodes.length > 0).map((rule) => shareOf(rule, times));
  const known = [...times.values()].reduce((sum, us) => sum + us, 0);
  const most = shares.reduce((max, { us }) => Math.max(max, us), 0);
  const isKnown = known > (ms * 1000) / 2;
  const atWork = isFed || most === 0 ? shares : shares.filter(({ us }) => us > 0);
  const named = isKnown ? shares.filter(({ us }) => us >= most / 2) : atWork;
  const longer = named.filter((share) => count(ms, share, isKnown || named.length === 1));
  if (longer.length === 0) return;
  if (isKnown ? longer.length <= maxLines : named.length === 1) {
    for (const { rule } of longer) logLonger(ms, rule);
    return;
  }
  const ids = longer.slice(0, maxLines).map(({ rule }) => rule.id);
  const rest = longer.length - ids.length;
  const rules = `rules ${ids.join(', ')}${rest > 0 ? ` and ${rest.toLocaleString('en')} more` : ''}`;
  const doubt = isKnown ? '' : '; which of them took it is not known';
  log.warn(`a call of the kernel took ${Math.round(ms)} ms for ${rules} together${doubt}`);
}

/** Time of all that the rule has in the kernel, and where it spent the most; `times` collects it by node. */
function shareOf(rule: RunningRule, times: Map<number, number>): Share {
  const { kernel } = rule.host;
  let total = 0;
  let most: TimeInWork = { us: 0, hostUs: 0, rows: 0 };
  let at = 0;
  const handles = [...new Set(rule.sources)].map((source) => Number(placeOf(rule, source).stream));
  for (const handle of [...handles, ...rule.nodes.map((node) => node.handle)]) {
    const time = kernel.timeInWork(handle);
    if (time.us === 0) continue;
    times.set(handle, time.us);
    total += time.us;
    if (time.us <= most.us) continue;
    most = time;
    at = handle;
  }
  return { rule, us: total, operator: busyOperator(rule, at, most.hostUs > most.us / 2), rows: most.rows };
}

/** Counts the call for the rule; true when it is worth a line. */
function count(ms: number, { rule, operator, rows }: Share, isKnown: boolean): boolean {
  const calls = rule.longCalls ?? { count: 0, ms: 0, operator: '', rows: 0 };
  const longest =
    ms > calls.ms ? { ms: Math.round(ms), operator: isKnown ? operator : '', rows: isKnown ? rows : 0 } : calls;
  rule.longCalls = { ...longest, count: calls.count + 1 };
  return ms >= 2 * calls.ms;
}

function logLonger(ms: number, { log, longCalls }: RunningRule): void {
  const { operator, rows } = longCalls!;
  const done = rows > 0 ? ` with ${rows.toLocaleString('en')} row${rows === 1 ? '' : 's'}` : '';
  const subject = operator === '' ? 'the rule' : operator;
  log.warn(
    `${subject} kept the kernel for ${Math.round(ms)} ms${done}; all rules waited meanwhile, explain may say why`,
  );
}

/**
 * Operator that the time of the node or stream at the handle went to. Of a node at a root it is the time of all below
 * it, most of it that of an operator that works on many rows at once; the time of functions (`isOwn`) is its own.
 */
function busyOperator(rule: RunningRule, handle: number, isOwn: boolean): string {
  const source = rule.sources.findIndex((one) => Number(placeOf(rule, one).stream) === handle);
  if (handle !== 0 && source >= 0) return rule.operators.find((operator) => operator.source === source)?.name ?? '';
  const own = rule.nodes.find((node) => node.handle === handle);
  const isLikely = own !== undefined && worksOnMany(own.kind);
  const busy = isOwn || isLikely ? own : (rule.nodes.find(({ kind }) => worksOnMany(kind)) ?? own);
  return busy === undefined ? '' : operatorOf(rule, busy.handle);
}
