// All kinds of operators. A further one is a file that fills in its record, and a line here.
import { encodeOperator } from '../encode/encode';
import { expandOperator } from '../operators/expand';
import { filterOperator } from '../operators/filter';
import { limitOperator } from '../operators/limit';
import { NodeKind } from '../node/node';
import { operatorOf } from '../node/operator';
import { analyticOperator } from '../analytic/analytic';
import { hitsOperator } from '../analytic/hits';
import { asofOperator } from '../join/asof/asof';
import { intervalOperator } from '../join/interval/interval';
import { joinOperator } from '../join/message/join';
import { mergeOperator } from '../join/merge/merge';
import { portOperator } from '../join/merge/port';
import { askOperator } from '../lookup/ask';
import { keyedOperator } from '../lookup/keyed';
import { lookupOperator } from '../lookup/lookup';
import { dedupOperator } from '../order/dedup';
import { eventTimeOperator } from '../order/event-time';
import { lateOperator } from '../order/late';
import { sortOperator } from '../order/sort';
import { windowOperator } from '../window/window';

export function operatorsInit(): void {
  filterOperator(operatorOf(NodeKind.FILTER));
  eventTimeOperator(operatorOf(NodeKind.EVENT_TIME));
  windowOperator(operatorOf(NodeKind.WINDOW));
  sortOperator(operatorOf(NodeKind.SORT));
  limitOperator(operatorOf(NodeKind.LIMIT));
  encodeOperator(operatorOf(NodeKind.ENCODE));
  mergeOperator(operatorOf(NodeKind.MERGE));
  portOperator(operatorOf(NodeKind.PORT));
  expandOperator(operatorOf(NodeKind.EXPAND));
  joinOperator(operatorOf(NodeKind.JOIN));
  analyticOperator(operatorOf(NodeKind.ANALYTIC));
  keyedOperator(operatorOf(NodeKind.KEYED_TABLE));
  lookupOperator(operatorOf(NodeKind.LOOKUP));
  hitsOperator(operatorOf(NodeKind.HITS));
  askOperator(operatorOf(NodeKind.ASK));
  dedupOperator(operatorOf(NodeKind.DEDUP));
  lateOperator(operatorOf(NodeKind.LATE));
  asofOperator(operatorOf(NodeKind.ASOF));
  intervalOperator(operatorOf(NodeKind.INTERVAL));
}
