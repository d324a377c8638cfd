/** Code of users: WebAssembly modules, JavaScript functions, external services, portable plugins. */
import { type Tab, Tabs } from '../../parts/tabs.js';
import { Modules } from './modules.js';
import { Portables, Services } from './packages.js';
import { Scripts } from './scripts.js';
import { Try } from './try.js';

const tabs: readonly [Tab, ...Tab[]] = [
  { path: 'modules', word: 'modules', show: Modules },
  { path: 'javascript', word: 'javascript', show: Scripts },
  { path: 'services', word: 'services', show: Services },
  { path: 'portables', word: 'portables', show: Portables },
];

export function Code() {
  return (
    <Tabs title="code" tabs={tabs}>
      <Try />
    </Tabs>
  );
}
