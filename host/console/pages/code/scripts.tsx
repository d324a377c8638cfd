/** JavaScript functions: written here, and tried in the playground. */
import { useState } from 'preact/hooks';
import { Collection } from '../../parts/collection.js';
import { Dialog } from '../../parts/dialog.js';
import { Making, TextField } from '../../parts/forms/making.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';

export function Scripts() {
  const [edited, setEdited] = useState<string>();
  return (
    <>
      <Collection
        title={t('javascript')}
        list={async () => (await ask('GET /udf/javascript')).map((id) => ({ id }))}
        describe={(id) => ask('GET /udf/javascript/{id}', { path: { id } })}
        remove={(id) => ask('DELETE /udf/javascript/{id}', { path: { id } })}
        more={(id) => (
          <button type="button" onClick={() => setEdited(id)}>
            {t('edit')}
            <span class="hidden"> {id}</span>
          </button>
        )}
        create={(done) => <ScriptForm id="" script={'function name(a) {\n  return a;\n}'} done={done} />}
      />
      {edited !== undefined && (
        <Dialog title={edited} onClose={() => setEdited(undefined)}>
          <Edited id={edited} done={() => setEdited(undefined)} />
        </Dialog>
      )}
    </>
  );
}

function Edited({ id, done }: { id: string; done: () => void }) {
  const { value } = usePolled(() => ask('GET /udf/javascript/{id}', { path: { id } }), 0, [id]);
  return value === undefined ? null : <ScriptForm id={id} script={value.script} done={done} />;
}

function ScriptForm({ id: known, script, done }: { id: string; script: string; done: () => void }) {
  const [id, setId] = useState(known);
  const [text, setText] = useState(script);
  const make = () => {
    const body = { id, script: text };
    return known === ''
      ? ask('POST /udf/javascript', { body })
      : ask('PUT /udf/javascript/{id}', { path: { id: known }, body });
  };
  return (
    <Making make={make} done={done}>
      <div class="fields">
        {known === '' && <TextField label={t('name')} hint={t('asFunction')} text={id} onText={setId} />}
        <TextField label={t('script')} rows={14} text={text} onText={setText} />
      </div>
    </Making>
  );
}
