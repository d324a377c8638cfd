// All kinds of operators. A further one is a file that fills in its record, and a line here.
import { encodeOperator } from './encode';
import { expandOperator } from './expand';
import { filterOperator } from './filter';
import { limitOperator } from './limit';
import { NodeKind } from './node';
import { operatorOf } from './operator';
import { analyticOperator } from '../analytic/analytic';
import { hitsOperator } from '../analytic/hits';
import { asofOperator } from '../join/asof';
import { intervalOperator } from '../join/interval';
import { joinOperator } from '../join/join';
import { mergeOperator } from '../join/merge';
import { portOperator } from '../join/port';
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
