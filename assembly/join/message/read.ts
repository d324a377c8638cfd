// Rows of tables, for the host to show.
import { jsonSizeBound, jsonWriteValue } from '../../json/write';
import { Tag } from '../../mem/layout';
import { textBegin, textGrow, textRoom } from '../../value/text';
import { firstNumber, pageOf } from '../../rows/number';
import { pageTag, pageVal } from '../../rows/page';
import { NO_MEMORY, NO_TEXT } from '../../gen/join-layouts';
import { JoinState, branchRows } from './spec';
import { Node } from '../../gen/node-layouts';

/** Rows that a table of a join holds. */
export function tableCount(node: Node, branch: u32): u32 {
  return branchRows(changetype<JoinState>(node.state), branch).count;
}

/**
 * Writes column `column` of the table's row `row` as JSON to the text buffer (value/text.ts) and returns the length of
 * the text; NO_TEXT or NO_MEMORY.
 */
export function tableJson(node: Node, branch: u32, row: u32, column: u32): i32 {
  const rows = branchRows(changetype<JoinState>(node.state), branch);
  const number = firstNumber(rows) + row;
  const page = pageOf(rows, number);
  const at = number - page.number;
  const tag = pageTag(page, column, at);
  if (tag == Tag.MISSING || tag == Tag.ERROR) return NO_TEXT;
  const payload = pageVal(page, column, at);
  const bound = jsonSizeBound(tag, payload);
  textBegin();
  const to: usize = bound > 0x7fffffff ? 0 : textRoom(<u32>bound);
  if (!to) return NO_MEMORY;
  const end = jsonWriteValue(to, tag, payload);
  if (!end) return NO_TEXT;
  textGrow(<u32>(end - to));
  return <i32>(end - to);
}
