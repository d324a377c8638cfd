/** Schemas of messages. */
import { useState } from 'preact/hooks';
import { Collection } from '../../parts/collection.js';
import { Choice, Making, TextField } from '../../parts/forms/making.js';
import { t } from '../../state/language.js';
import { ask } from '../../state/server.js';

const types = ['protobuf', 'avro', 'custom'];
const separator = ' / ';

const pathOf = (id: string) => {
  const [type = '', name = ''] = id.split(separator);
  return { type, name };
};

async function list() {
  const found = await Promise.all(
    types.map(async (type) => {
      // A server need not know all of the types.
      const names = await ask('GET /schemas/{type}', { path: { type } }).catch(() => []);
      return names.map((name) => ({ id: `${type}${separator}${name}` }));
    }),
  );
  return found.flat();
}

export function Schemas() {
  return (
    <Collection
      title={t('schemas')}
      list={list}
      describe={(id) => ask('GET /schemas/{type}/{name}', { path: pathOf(id) })}
      remove={(id) => ask('DELETE /schemas/{type}/{name}', { path: pathOf(id) })}
      create={(done) => <SchemaForm done={done} />}
    />
  );
}

function SchemaForm({ done }: { done: () => void }) {
  const [type, setType] = useState('protobuf');
  const [name, setName] = useState('');
  const [content, setContent] = useState('');
  const make = () => ask('POST /schemas/{type}', { path: { type }, body: { name, content } });
  return (
    <Making make={make} done={done}>
      <div class="fields">
        <TextField label={t('name')} text={name} onText={setName} />
        <Choice label={t('type')} choices={types} value={type} onChoice={setType} />
        <TextField label={t('content')} rows={10} text={content} onText={setContent} />
      </div>
    </Making>
  );
}
