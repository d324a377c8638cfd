/** Which connections are the same, and which differ only by what may change while they are in use. */
import { isDeepStrictEqual } from 'node:util';
import type { Spec } from '../base/fields/field.js';

type Conf = Readonly<Record<string, unknown>>;

/** Equal for properties that make equal connections: parts with the same key can have one together. */
export function connectionKey(connection: Spec, conf: Conf): string {
  return JSON.stringify(Object.keys(connection).map((name) => conf[name]));
}

/** Whether nothing differs but these properties; of one that is an address only the login may differ. */
export function isRenewal(spec: Spec, renewable: readonly string[], former: Conf, conf: Conf): boolean {
  return Object.entries(spec).every(([name, { declared }]) => {
    const [one, other] = [former[name], conf[name]];
    if (isDeepStrictEqual(one, other)) return true;
    if (!renewable.includes(name)) return false;
    return declared.isAddress !== true || withoutLogin(String(one)) === withoutLogin(String(other));
  });
}

function withoutLogin(address: string): string {
  return address.replace(/^([a-z][\w+.-]*:\/\/)[^/?#]*@/i, '$1');
}
