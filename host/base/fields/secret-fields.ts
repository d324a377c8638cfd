/** Which properties hold secrets, and the mask that replaces them. */

/** Text that answers and logs show instead of a secret. */
export const maskText = '******';

const secretNames = new RegExp(
  [
    '(pass(word|wd|phrase|code)?|pwd|token|authorization|cookie)$',
    'secret|credential',
    '(private|access|api|aes|account|policy|shared|signing|encryption|subscription|auth|functions?|master)' +
      '[_-]?key(raw)?$',
    '(^|[_-])(jwt|bearer)$',
  ].join('|'),
  'i',
);

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

const addressNames = [
  'servers?|ur[li]s?|hosts?|hostname|port|addr(ess)?(es)?|addrs|endpoints?|brokers?|dburl',
  'connectionselector|resourceid',
];
const addressName = new RegExp(`^(${addressNames.join('|')})$`, 'i');

/** Tells whether a property of this name is the address that other properties are sent to, or a part of it. */
export function isAddressName(name: string): boolean {
  return addressName.test(name);
}

/** Password of a URL: everything between the user and the last @ before the path. */
const urlPassword = /^([a-z][a-z0-9+.-]*:\/\/[^/?#@:\s]*:)([^/?#\s]+)@/i;
/** What stands alone before the @ and is so long that it is a token and no name. */
const urlToken = /^((?:https?|wss?):\/\/)([^/?#@:\s{]{16,})@/i;
/** Several addresses in one text. */
const nextAddress = /(,\s*)(?=[a-z][a-z0-9+.-]*:\/\/)/i;
/** Credentials as headers have them; an expression is none. */
const scheme = /^((?:bearer|basic|apikey|sharedaccesssignature)\s+)([^\s{]{6,})$/i;
/** Names of members that are secret in the query of a URL, where short names are usual. */
const queryName = /^(sig|signature|auth|jwt|pw)$/i;
/** Members of a query whose value tells: a key is one for access, if it is as long as these are. */
const keyName = /^(key|code)$/i;
const minKeyLength = 16;
/** A member of a URL's query, a form, or a connection string such as `Server=h;Password=p`; an expression is none. */
const textMember = /(^|[?&;]\s*)([\w.-]+)\s*=\s*(?!\{\{)([^&;#\s]+)/g;
const hasMembers = /^([a-z][a-z0-9+.-]*:\/)?\/[^\s?]*\?|^[\w. -]+=[^;]*;|^[\w.-]+=[^&\s]*&[\w.-]+=/i;

function isSecretMember(name: string, value: string): boolean {
  return isSecretName(name) || queryName.test(name) || (keyName.test(name) && value.length >= minKeyLength);
}

/** Masks secrets within a text: credentials and secret parameters of URLs, of a connection string, of a header. */
export function maskWithin(text: string): string {
  const parts = text.includes('://') ? text.split(nextAddress) : [text];
  const masked = parts.map(maskPart).join('');
  const object = objectIn(text);
  if (object === undefined) return masked;
  const plain = JSON.stringify(object);
  const shown = JSON.stringify(maskByName(object));
  return plain === shown ? text : shown;
}

function maskPart(text: string): string {
  const masked = text
    .replace(urlPassword, `$1${maskText}@`)
    .replace(urlToken, `$1${maskText}@`)
    .replace(scheme, `$1${maskText}`);
  if (!hasMembers.test(masked)) return masked;
  return masked.replace(textMember, (all, _before, name: string, value: string) =>
    isSecretMember(name, value) ? all.slice(0, -value.length) + maskText : all,
  );
}

/**
 * Masks secrets of all addresses within a longer text, such as a message of another program: their user info, which may
 * hold any characters but spaces, and the values of secret names in their queries.
 */
export function maskAddresses(text: string): string {
  return text.replace(addressWithin, (address: string) =>
    address
      .replace(/^(\w[\w+.-]*:\/\/)[^/?#]*(?:@|%40)/, `$1${maskText}@`)
      .replace(userBehindPath, `$1${maskText}@`)
      .replace(queryMember, (all, name: string, value: string) =>
        isSecretMember(name, value) ? all.slice(0, -value.length) + maskText : all,
      ),
  );
}

const addressWithin = /\b\w[\w+.-]*:\/\/[^\s"'<>]+/g;
/** A password with a slash or the like that was not written as %2F; a port is none. */
const userBehindPath = /^(\w[\w+.-]*:\/\/)[^?#:/@]*:(?!\d+(?:[/?#]|$))\S*@/;
const queryMember = /[?&;]([\w.-]+)=([^&;#\s,)\]]+)/g;

/** Some properties hold an object as text, such as the body of a request for a token. */
function objectIn(text: string): object | undefined {
  if (!/^\s*\{\s*"/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

/**
 * Returns a copy of a free-form value with everything that looks like a secret by its name masked, at any depth, and
 * what is secret within texts.
 */
export function maskByName(value: unknown): unknown {
  if (typeof value === 'string') return maskWithin(value);
  if (Array.isArray(value)) return value.map(maskByName);
  if (value === null || typeof value !== 'object') return value;
  const shown = ([name, item]: [string, unknown]) => [name, maskNamed(name, item)];
  // Entries, not assignments: a name like __proto__ is one of the client's.
  return Object.fromEntries(Object.entries(value).map(shown));
}

/** Masks the value of a free-form property as far as its name tells what it is. */
export function maskNamed(name: string, value: unknown): unknown {
  if (/^oauth$/i.test(name)) return maskOauth(value);
  return isSecretName(name) ? maskWhole(value) : maskByName(value);
}

/** Requests for tokens: their bodies are secret as a whole, whatever the server calls the members. */
function maskOauth(value: unknown): unknown {
  if (typeof value === 'string') {
    const object = objectIn(value);
    return object === undefined ? maskWithin(value) : JSON.stringify(maskOauth(object));
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return maskByName(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, isSecretName(name) ? maskWhole(item) : maskRequest(item)]),
  );
}

function maskRequest(request: unknown): unknown {
  if (request === null || typeof request !== 'object' || Array.isArray(request)) return maskByName(request);
  const masked = Object.entries(maskByName(request) as object);
  return Object.fromEntries(masked.map(([name, item]) => [name, /^body$/i.test(name) ? maskBody(item) : item]));
}

function maskBody(body: unknown): unknown {
  return typeof body === 'object' && body !== null ? maskText : maskWhole(body);
}

/** Masks the value of a secret name. Empty secrets stay empty, so that a reader sees that none is set. */
export function maskWhole(value: unknown): unknown {
  if (typeof value === 'string') return value === '' || isSecretRef(value) ? value : maskText;
  if (typeof value === 'number') return maskText;
  return Array.isArray(value) ? value.map(maskWhole) : maskByName(value);
}

/** A shorter value is no secret, and would mask parts of ordinary words. */
export const minSecretLength = 3;

/** Collects the texts that must not be shown, at any depth: values of secret names, and secrets within other texts. */
export function secretTextsOf(value: unknown, isSecret: (name: string) => boolean = isSecretName): string[] {
  return [...collect(value, isSecret)].filter((text) => text.length >= minSecretLength);
}

function* collect(value: unknown, isSecret: (name: string) => boolean): Iterable<string> {
  if (typeof value === 'string') yield* textsWithin(value);
  else if (Array.isArray(value)) for (const item of value) yield* collect(item, isSecretName);
  else if (value !== null && typeof value === 'object') {
    for (const [name, item] of Object.entries(value)) {
      if (typeof item === 'string' && (isSecret(name) || isSecretName(name))) yield item;
      else yield* collect(item, isSecretName);
    }
  }
}

function* textsWithin(text: string): Iterable<string> {
  for (const part of text.includes('://') ? text.split(nextAddress) : [text]) {
    for (const pattern of [urlPassword, urlToken, scheme]) {
      const secret = pattern.exec(part)?.[2];
      if (secret !== undefined && secret !== maskText) yield secret;
    }
    if (!hasMembers.test(part)) continue;
    for (const [, , name, value] of part.matchAll(textMember)) {
      if (isSecretMember(name as string, value as string)) yield value as string;
    }
  }
  const object = objectIn(text);
  if (object !== undefined) yield* collect(object, isSecretName);
}
