/**
 * Properties of streams that many rules read, resolved once: thousands of rules that start on a shared stream would
 * each put the same layers together and ask the disk for the same files. What lies outside the store, as files of
 * secrets and links in paths, is looked at again after a second.
 */
import type { Redact } from '../../base/secrets/redact.js';
import type { Catalog } from '../../model/engine.js';
import type { StreamDefinition } from '../../sql/source-def.js';

export interface StreamProps {
  readonly props: Readonly<Record<string, unknown>>;
  readonly secrets: readonly string[];
  readonly redact: Redact;
}

interface Known {
  readonly value: StreamProps;
  readonly version: number;
  readonly access: Catalog['access'];
  readonly at: number;
}

const trustedMs = 1000;
const known = new WeakMap<StreamDefinition, Known>();

/** Result of `resolve`, or the one of the last second while keys and connections are unchanged. Errors are not kept. */
export function knownProps(definition: StreamDefinition, catalog: Catalog, resolve: () => StreamProps): StreamProps {
  const version = catalog.version?.();
  if (version === undefined) return resolve();
  const { access } = catalog;
  const found = known.get(definition);
  const now = performance.now();
  if (found?.version === version && found.access === access && now - found.at < trustedMs) return found.value;
  const value = resolve();
  known.set(definition, { value, version, access, at: now });
  return value;
}
