/** Compares what came out with what a case expects, where that may be said in part. */
import type { Expected, Pair } from './case-file.js';

/** How the engine begins the message of an error. */
const errorMember = '{"error":';

/**
 * A message as case files write it: errors as `error TEXT`; in what else is no JSON the word of the runner stands
 * already.
 */
function worded(message: string): string {
  return message.startsWith(errorMember) ? `error ${String(JSON.parse(message).error)}` : message;
}

/** An expected error is part of the text that came. */
function matches(wanted: string, got: string): boolean {
  if (wanted === got) return true;
  const [, word, part = ''] = /^(error|refused|stopped) (.+)$/s.exec(wanted) ?? [];
  return word !== undefined && got.startsWith(`${word} `) && got.slice(word.length).includes(part);
}

/** Lines that came, in the words and in the order of those expected as far as that leaves it open. */
export function outcomeOf({ lines, anyOrder }: Expected, messages: readonly string[]): string[] {
  const got = messages.length === 0 ? ['nothing'] : messages.map(worded);
  if (anyOrder === 'messages') {
    const left = [...got];
    const found = lines.flatMap((line) => {
      const at = left.findIndex((one) => matches(line, one));
      if (at >= 0) left.splice(at, 1);
      return at >= 0 ? [line] : [];
    });
    return [...found, ...left];
  }
  return got.map((one, i) => {
    const wanted = lines[i] ?? '';
    const isSame = matches(wanted, one) || (anyOrder === 'rows' && sorted(wanted) === sorted(one));
    return isSame ? wanted : one;
  });
}

/** A message with its rows sorted. */
function sorted(message: string): string {
  if (!message.startsWith('[')) return message;
  const rows: unknown[] = JSON.parse(message);
  return rows
    .map((row) => JSON.stringify(row))
    .sort()
    .join('\n');
}

const rowStart = '[{"r":';

/** The value that each row gave, as it was sent. */
export function pairsOf(pairs: readonly Pair[], messages: readonly string[]): string[] {
  if (messages.length !== pairs.length) {
    const reason = `${messages.length} messages of ${pairs.length} rows`;
    return pairs.map((_pair, i) => messages[i] ?? reason);
  }
  return pairs.map(({ value }, i) => {
    const message = messages[i]!;
    if (message === '[{}]') return 'none';
    const got = message.startsWith(rowStart) ? message.slice(rowStart.length, -'}]'.length) : worded(message);
    return matches(value, got) ? value : got;
  });
}
