/** Properties of connectors as clients see them: what connectors and formats declare as secret is masked. */

import { mask } from '../../base/fields/declared-secrets.js';
import type { Spec } from '../../base/fields/field.js';
import { maskByName } from '../../base/fields/secret-fields.js';
import { isObject } from '../../base/structures/is-object.js';
import { decodedFormats, decodePropsOf, encodedFormats, secretEncodeProps } from '../../codecs/index.js';
import { connectorOf } from '../../connectors/index.js';

type Props = Readonly<Record<string, unknown>>;

/** What the properties are for. */
export type Owner = 'sources' | 'sinks' | 'connections';

/** Masks the secrets of a stream, an action, a connection, or of a configuration key of one of them. */
export function maskProps(owner: Owner, type: string, props: Props): Record<string, unknown> {
  const shown = mask(secretSpec(owner, type), props);
  if (owner !== 'sinks') return shown;
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]) =>
      name.toLowerCase() === 'deadletter' ? [name, maskSinks(props[name])] : [name, value],
    ),
  );
}

/** Masks an object of sinks by their type, as actions are. */
export function maskSinks(sinks: unknown): unknown {
  if (!isObject(sinks)) return maskByName(sinks);
  return Object.fromEntries(
    Object.entries(sinks).map(([type, props]) => [
      type,
      isObject(props) ? maskProps('sinks', type, props) : maskByName(props),
    ]),
  );
}

const ofFormats: Record<'decoded' | 'encoded', Spec | undefined> = { decoded: undefined, encoded: undefined };

/** Everything that is declared of the properties; nothing of a type that a plugin brings. */
function secretSpec(owner: Owner, type: string): Spec {
  const connector = connectorOf(type.toLowerCase());
  const connection = connector?.connection?.props ?? {};
  const source = { ...decoded(), ...connector?.lookup?.asked?.props, ...connector?.source?.props };
  const sink = { ...encoded(), ...connector?.sink?.props };
  if (owner === 'sources') return source;
  return owner === 'sinks' ? sink : { ...source, ...sink, ...connection };
}

function decoded(): Spec {
  ofFormats.decoded ??= Object.assign({}, ...decodedFormats().map(decodePropsOf)) as Spec;
  return ofFormats.decoded;
}

function encoded(): Spec {
  ofFormats.encoded ??= Object.assign({}, ...encodedFormats().map((format) => secretEncodeProps({ format }))) as Spec;
  return ofFormats.encoded;
}
