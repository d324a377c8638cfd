/** Configuration keys of sources: properties under a name, which streams refer to. */
import { Collection } from '../../parts/collection.js';
import { TypedForm } from '../../parts/forms/typed-form.js';
import { t } from '../../state/language.js';
import { ask } from '../../state/server.js';

const separator = ' / ';

const pathOf = (id: string) => {
  const [name = '', confKey = ''] = id.split(separator);
  return { name, confKey };
};

/** The keys that clients have registered: each with its source. */
async function list() {
  const { sources } = (await ask('GET /metadata/resources')) as {
    sources?: readonly Readonly<Record<string, string>>[];
  };
  const pairs = (sources ?? []).flatMap((one) => Object.entries(one));
  return pairs.map(([key, source]) => ({ id: `${source}${separator}${key}` }));
}

export function ConfKeys() {
  return (
    <Collection
      title={t('confKeys')}
      list={list}
      describe={async (id) => {
        const { name, confKey } = pathOf(id);
        return (await ask('GET /metadata/sources/yaml/{name}', { path: { name } }))[confKey];
      }}
      remove={(id) => ask('DELETE /metadata/sources/{name}/confKeys/{confKey}', { path: pathOf(id) })}
      create={(done) => (
        <TypedForm
          types={() => ask('GET /metadata/sources')}
          form={(name) => ask('GET /metadata/sources/{name}', { path: { name } })}
          make={(confKey, name, props) =>
            ask('PUT /metadata/sources/{name}/confKeys/{confKey}', { path: { name, confKey }, body: props })
          }
          check={(name, props) => ask('POST /metadata/sources/connection/{name}', { path: { name }, body: props })}
          done={done}
        />
      )}
    />
  );
}
