// Chooses the function that goes over the rows.
import { Tag } from '../mem/layout';
import { AnalyticFn } from './spec';
import { accumulateRows, extremeRows } from './functions/accumulate';
import { changedColRows, changedMembersRows, hadChangedRows } from './functions/changed';
import { collectRows, mapRows, mergeRows } from './functions/gather';
import { accCollectRows } from './functions/collect';
import { lagRows } from './functions/lag';
import { latestRows } from './functions/latest';
import { rowNumberRows } from './functions/row-number';
import { userRows } from './functions/user';
import { FunctionSpec } from '../gen/analytic-layouts';

/** Runs a function over the rows of the batch (analytic/run.ts). */
export function runFunction(fn: FunctionSpec): void {
  switch (fn.fn) {
    case AnalyticFn.LAG:
      lagRows(fn);
      return;
    case AnalyticFn.LATEST:
      latestRows();
      return;
    case AnalyticFn.HAD_CHANGED:
      hadChangedRows(fn);
      return;
    case AnalyticFn.CHANGED_COL:
      changedColRows('changed_col', Tag.NULL);
      return;
    case AnalyticFn.CHANGED_ITEM:
      changedColRows('changed_cols', Tag.MISSING);
      return;
    case AnalyticFn.ROW_CHANGED:
      changedMembersRows(false);
      return;
    case AnalyticFn.CHANGED_COLUMNS:
      changedMembersRows(true);
      return;
    case AnalyticFn.ACC_COLLECT:
      accCollectRows(false);
      return;
    case AnalyticFn.ACC_DISTINCT_COLLECT:
      accCollectRows(true);
      return;
    case AnalyticFn.ACC_MAP_AGG:
      mapRows();
      return;
    case AnalyticFn.ROW_NUMBER:
      rowNumberRows();
      return;
    case AnalyticFn.ACC_MAX_BY:
    case AnalyticFn.ACC_MIN_BY:
      extremeRows(fn);
      return;
    case AnalyticFn.USER:
      userRows(fn);
      return;
    case AnalyticFn.INC_COLLECT:
      collectRows();
      return;
    case AnalyticFn.INC_MERGE_AGG:
      mergeRows();
      return;
    default:
      accumulateRows(fn);
  }
}
