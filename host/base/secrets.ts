/** Which properties hold secrets, and what is shown in their place. */

/** What answers and logs show instead of a secret. */
export const maskText = '******';

const secretNames =
  /pass(word|wd|phrase)?$|token$|secret|credential|private_?key|(access|api|aes|account)_?key|^authorization$/i;

/**
 * Tells whether a text is a reference to a secret as a whole (see secret-ref.ts). Such a text says where the secret is
 * but not what it is: it is shown, so that a reader sees what was set.
 */
export function isSecretRef(text: string): boolean {
  return /^(env|file):\/\/\S/.test(text);
}

/** Tells whether a free-form property of this name must not be shown. */
export function isSecretName(name: string): boolean {
  return secretNames.test(name);
}

/** Password of a URL: everything between the user and the last @ before the path. */
const urlPassword = /^([a-z][a-z0-9+.-]*:\/\/[^/?#@:\s]*:)([^/?#\s]+)@/i;

/** Masks the password within a text that is a URL. */
export function maskUrl(text: string): string {
  return text.replace(urlPassword, `$1${maskText}@`);
}

/**
 * Returns a copy of a free-form value with everything that looks like a secret by its name masked, at any depth, and the
 * passwords of URLs.
 */
export function maskByName(value: unknown): unknown {
  if (typeof value === 'string') return maskUrl(value);
  if (Array.isArray(value)) return value.map(maskByName);
  if (value === null || typeof value !== 'object') return value;
  const shown = (name: string, item: unknown) => (isSecretName(name) && isShown(item) ? maskText : maskByName(item));
  // Entries, not assignments: a name like __proto__ is one of the client's.
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shown(name, item)]));
}

/** A shorter value is no secret, and would mask parts of ordinary words. */
const minSecretLength = 3;

/** Collects the texts that must not be shown: those of secret names and the passwords of URLs, at any depth. */
export function secretTextsOf(value: unknown, isSecret: (name: string) => boolean = isSecretName): string[] {
  if (typeof value === 'string') {
    const password = urlPassword.exec(value)?.[2];
    return password === undefined || password.length < minSecretLength ? [] : [password];
  }
  if (Array.isArray(value)) return value.flatMap((item) => secretTextsOf(item));
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, item]) => {
    if (typeof item !== 'string' || !(isSecret(name) || isSecretName(name))) return secretTextsOf(item);
    return item.length < minSecretLength ? [] : [item];
  });
}

/** Empty secrets stay empty, so that a reader sees that none is set. */
function isShown(value: unknown): boolean {
  return (typeof value === 'string' && value !== '' && !isSecretRef(value)) || typeof value === 'number';
}
