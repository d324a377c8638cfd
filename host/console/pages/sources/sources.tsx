/** What rules read and what it takes: streams, tables, connections, configuration keys, schemas, files. */
import { type Tab, Tabs } from '../../parts/tabs.js';
import { ConfKeys } from './conf-keys.js';
import { Connections } from './connections.js';
import { Schemas } from './schemas.js';
import { Streams, Tables } from './streams.js';
import { Uploads } from './uploads.js';

const tabs: readonly [Tab, ...Tab[]] = [
  { path: 'streams', word: 'streams', show: Streams },
  { path: 'tables', word: 'tables', show: Tables },
  { path: 'connections', word: 'connections', show: Connections },
  { path: 'keys', word: 'confKeys', show: ConfKeys },
  { path: 'schemas', word: 'schemas', show: Schemas },
  { path: 'uploads', word: 'uploads', show: Uploads },
];

export function Sources() {
  return <Tabs title="sources" tabs={tabs} />;
}
