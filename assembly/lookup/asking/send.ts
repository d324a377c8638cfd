// The request of a lookup for the keys without an entry.
import * as ctx from '../../batch/context';
import { LookupFlag } from '../../gen/lookup-layouts';
import { Node } from '../../gen/node-layouts';
import { accountOf } from '../../node/node';
import { setDeadline } from '../../node/timers';
import { toF64 } from '../../value/number';
import { Answer, entryTag, entryVal } from './answers';
import { hasStates } from './partitions';
import { askStates } from './states';
import { hasFlag, requestsOf, specOf } from './asking';
import { requestNew, requestSend, requestSetDeadline, requestsFirst } from './requests';

/** Entries of the batch that are to be asked for. */
export const FRESH: usize = memory.data(4 * 1024, 16);

/** Asks for the entries in FRESH. */
export function ask(node: Node, count: u32): bool {
  const spec = specOf(node);
  const requests = requestsOf(node);
  if (hasStates(node)) return !!requestNew(requests, FRESH, count, accountOf(node)) && askStates(node);
  const isFirst = !requestsFirst(requests);
  const request = requestNew(requests, FRESH, count, accountOf(node));
  if (!request) return false;
  let deadline = ctx.nowMs + spec.timeout;
  if (hasFlag(spec, LookupFlag.IS_DELAY)) deadline = lastDue(count);
  else if (!requestSend(request, node, spec.keys, hasFlag(spec, LookupFlag.IS_EACH))) return false;
  requestSetDeadline(request, deadline);
  return !isFirst || setDeadline(node, deadline);
}

/**
 * Latest of the times that are the keys of the entries in FRESH; rows keep their order, so later rows wait for it as
 * well.
 */
function lastDue(count: u32): f64 {
  let last: f64 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const entry = changetype<Answer>(load<u32>(FRESH + ((<usize>i) << 2)));
    last = max(last, toF64(entryTag(entry, 1, 0), entryVal(entry, 0)));
  }
  return last;
}
