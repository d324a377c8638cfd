/** Named connections, those that rules have open, and whether they stand. */
import { Collection } from '../../parts/collection.js';
import { TypedForm } from '../../parts/forms/typed-form.js';
import { t } from '../../state/language.js';
import { ask } from '../../state/server.js';
import type { Word } from '../../state/words.js';

const states: Readonly<Record<string, Word>> = {
  connected: 'connectedOf',
  connecting: 'connecting',
  disconnected: 'notConnected',
};

function statusOf(status: string): string {
  const word = states[status];
  return word === undefined ? status : t(word);
}

export function Connections() {
  return (
    <Collection
      title={t('connections')}
      list={async () => {
        const all = await ask('GET /connections', { query: { forceAll: 'true' } });
        return all.map(({ id, typ, status, err, isNamed }) => ({
          id,
          about: [typ, statusOf(status), err, isNamed ? '' : t('ofRule')].filter((part) => part).join(', '),
          isBad: status === 'disconnected',
        }));
      }}
      describe={(id) => ask('GET /connections/{id}', { path: { id } })}
      remove={(id) => ask('DELETE /connections/{id}', { path: { id } })}
      create={(done) => (
        <TypedForm
          types={() => ask('GET /metadata/connections')}
          form={(name) => ask('GET /metadata/connections/{name}', { path: { name } })}
          make={(id, typ, props) => ask('POST /connections', { body: { id, typ, props } })}
          check={(name, props) => ask('POST /metadata/sinks/connection/{name}', { path: { name }, body: props })}
          done={done}
        />
      )}
    />
  );
}
