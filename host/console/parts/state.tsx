/** The state of a rule, in colour and in words. */
import { t } from '../state/language.js';
import type { Word } from '../state/words.js';

type Look = 'good' | 'warn' | 'bad' | 'faint';

const looks: readonly (readonly [begin: string, word: Word, look: Look])[] = [
  ['running', 'running', 'good'],
  ['starting', 'starting', 'warn'],
  ['stopping', 'stopping', 'warn'],
  ['stopped: waiting', 'scheduled', 'faint'],
  ['stopped by error', 'failed', 'bad'],
  ['stopped: canceled', 'failed', 'bad'],
  ['stopped', 'stopped', 'faint'],
  ['lost', 'lost', 'bad'],
];

/** The word for a state as the server writes it. */
export function stateWord(status: string): Word {
  return looks.find(([begin]) => status.toLowerCase().startsWith(begin))?.[1] ?? 'stopped';
}

export function State({ status, isTroubled = false }: { status: string; isTroubled?: boolean }) {
  const [, word, look] = looks.find(([begin]) => status.toLowerCase().startsWith(begin)) ?? ['', 'stopped', 'faint'];
  return <span class={`state ${word} ${isTroubled && look === 'good' ? 'warn' : look}`}>{t(word)}</span>;
}
