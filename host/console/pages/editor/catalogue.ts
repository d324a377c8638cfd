/** What the server knows of nodes: streams with their types, operators, sinks with their properties. */
import { type Described, type PropertySpec, propertiesOf } from '../../parts/forms/spec.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';
import type { DrawnNode } from './model.js';

export interface Catalogue {
  readonly streams: readonly { readonly name: string; readonly type: string }[];
  readonly operators: readonly Described[];
  readonly sinks: readonly Described[];
  readonly specsOf: (node: Pick<DrawnNode, 'type' | 'kind'>) => readonly PropertySpec[];
}

/** The catalogue, with the properties of the kinds of sinks that are drawn. */
export function useCatalogue(sinkKinds: readonly string[]): Catalogue {
  const { value: known } = usePolled(
    () => Promise.all([ask('GET /streamdetails'), ask('GET /metadata/operators'), ask('GET /metadata/sinks')]),
    0,
    [],
  );
  const { value: forms } = usePolled(
    async () => new Map(await Promise.all(sinkKinds.map(async (name) => [name, await sinkForm(name)] as const))),
    0,
    [sinkKinds.join(' ')],
  );
  const [streams = [], operators = [], sinks = []] = known ?? [];
  return {
    streams,
    operators: operators as readonly Described[],
    sinks: sinks as unknown as readonly Described[],
    specsOf: ({ type, kind }) => {
      if (type === 'source') return [];
      if (type === 'sink') return forms?.get(kind) ?? [];
      return propertiesOf((operators as readonly Described[]).find(({ name }) => name === kind) ?? {});
    },
  };
}

async function sinkForm(name: string): Promise<readonly PropertySpec[]> {
  return propertiesOf(await ask('GET /metadata/sinks/{name}', { path: { name } }));
}
