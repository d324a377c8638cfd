/** Whether a stream is what it was, but for some of its properties. */
import type { SourceSpec } from '../../link/protocol.js';

export function isSameBut(names: readonly string[], one: SourceSpec, other: SourceSpec): boolean {
  const text = (spec: SourceSpec) => {
    const props = Object.entries(spec.props).filter(([name]) => !names.includes(name));
    return JSON.stringify({ ...spec, secrets: undefined, props: props.sort(([a], [b]) => (a < b ? -1 : 1)) });
  };
  return names.length > 0 && text(one) === text(other);
}
