/** What the browser keeps of a user: choices between visits, typed text for the tab. */
import { useState } from 'preact/hooks';

/** Keeps a choice under a name; a value that is none of the choices counts as none. */
export function kept<T extends string>(name: string, fallback: T, isChoice: (text: string) => boolean) {
  const key = `haumea.${name}`;
  const text = read(key);
  return {
    value: text !== null && isChoice(text) ? (text as T) : fallback,
    keep(value: T): void {
      try {
        localStorage.setItem(key, value);
      } catch {
        // A browser that keeps nothing forgets the choice.
      }
    },
  };
}

/**
 * What a user has typed and not saved, kept for this tab: it outlives a reload, other pages, and a new login. `forget`
 * with a value forgets that alone: what was typed after it stays.
 */
export function useKeptState<T>(
  name: string,
  initial: T,
): readonly [value: T, change: (value: T) => void, forget: (only?: T) => void] {
  const key = `haumea.typed.${name}`;
  const [value, setValue] = useState<T>(() => readTyped<T>(key) ?? initial);
  const change = (next: T) => {
    setValue(next);
    keepTyped(key, next);
  };
  const forget = (only?: T) => {
    if (only === undefined || isSame(readTyped<T>(key), only)) keepTyped(key, undefined);
  };
  return [value, change, forget];
}

/** Equal as they are kept. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function readTyped<T>(key: string): T | undefined {
  try {
    const text = sessionStorage.getItem(key);
    return text === null ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}

/** Undefined forgets it. */
function keepTyped(key: string, value: unknown): void {
  try {
    if (value === undefined) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // What does not fit is lost with the tab.
  }
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
