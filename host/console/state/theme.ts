/** Light or dark: as the system has it, or as the user wants it. */
import { signal } from '@preact/signals';
import { kept } from './kept.js';

export type Theme = 'auto' | 'light' | 'dark';

const known = kept<Theme>('theme', 'auto', (text) => ['auto', 'light', 'dark'].includes(text));

export const theme = signal<Theme>(known.value);

export function setTheme(chosen: Theme): void {
  known.keep(chosen);
  theme.value = chosen;
  document.documentElement.dataset.theme = chosen;
}
