/** What the browser keeps of a user between visits. */

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

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
