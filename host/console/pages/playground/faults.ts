/** Where a statement is wrong, by what the server says of it. */
import type { Fault } from '../../parts/code/editing.js';
import { ask, reasonOf } from '../../state/server.js';

/** Words that stand in statements and in sentences: no place is found by them. */
const common = new Set(
  'select from where group by having as and or not in is like join on with limit order the of a to'.split(' '),
);

/** The faults that the server finds in a statement. */
export async function faultsOf(sql: string): Promise<readonly Fault[]> {
  if (sql.trim() === '') return [];
  try {
    await ask('POST /rules/validate', { body: { id: 'playground', sql, actions: [{ nop: {} }] } });
    return [];
  } catch (error) {
    const message = reasonOf(error);
    return [{ ...placeOf(sql, message), message }];
  }
}

/** The place that the message names by line and column, or by a word of the statement; else all of it. */
function placeOf(sql: string, message: string): { from: number; to: number } {
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  if (line !== undefined) {
    const before = sql.split('\n').slice(0, Number(line) - 1);
    const from = before.reduce((sum, text) => sum + text.length + 1, 0) + Number(column) - 1;
    return { from, to: Math.max(from + 1, from + (/^\w+/.exec(sql.slice(from))?.[0].length ?? 1)) };
  }
  for (const [word] of message.matchAll(/\w+/g)) {
    if (common.has(word.toLowerCase())) continue;
    const found = new RegExp(`\\b${word}\\b`).exec(sql);
    if (found) return { from: found.index, to: found.index + word.length };
  }
  return { from: 0, to: sql.length };
}
