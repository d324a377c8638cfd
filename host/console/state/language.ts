/** The language of the page, and what is written in it. */
import { signal } from '@preact/signals';
import { kept } from './kept.js';
import { type Word, words } from './words.js';
import { chinese, chineseName } from './words-chinese.js';

export type Language = 'en' | 'zh';

export const languages: readonly (readonly [Language, string])[] = [
  ['en', 'English'],
  ['zh', chineseName],
];

const first: Language = navigator.language.startsWith('zh') ? 'zh' : 'en';
const known = kept<Language>('language', first, (text) => text === 'en' || text === 'zh');

export const language = signal<Language>(known.value);

/** Changes the language, also for the next visit. */
export function speak(chosen: Language): void {
  known.keep(chosen);
  language.value = chosen;
  document.documentElement.lang = chosen;
}

/** A word of the table in the language of the page, with its values. */
export function t(word: Word, values: Readonly<Record<string, string | number>> = {}): string {
  const text = (language.value === 'zh' ? chinese : words)[word];
  return text.replace(/\{(\w+)\}/g, (all, name: string) => (name in values ? String(values[name]) : all));
}
