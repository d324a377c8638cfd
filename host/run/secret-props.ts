/** References to secrets in properties of connectors, resolved when a rule starts or a connection is tried. */
import { hasSecretRef, type Resolved, resolveSecrets } from '../base/secret-ref.js';

type Props = Record<string, unknown>;

/** Properties whose `file://` text is the address of a file, not a secret kept in one. */
const addressName = /(path|file|url|uri)$/i;

/** Returns the properties with their references resolved; throws a `config` error that names property and reference. */
export function resolveProps(props: Props, where: string): Resolved<Props> {
  if (!hasSecretRef(props)) return { value: props, redact: (text) => text };
  const keep = Object.entries(props)
    .filter(([name, value]) => addressName.test(name) && typeof value === 'string' && value.startsWith('file://'))
    .map(([name]) => name);
  return resolveSecrets(props, { where, keep });
}
