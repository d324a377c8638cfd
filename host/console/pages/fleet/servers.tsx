/** Which servers are meant, and which of them have told nothing. */
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { ask } from '../../state/server.js';

interface GroupProps {
  readonly value: string;
  readonly onChoice: (group: string) => void;
}

/** The groups of the list; empty stands for all servers. */
export function Group({ value, onChoice }: GroupProps) {
  const { value: servers = [] } = usePolled(() => ask('GET /fleet/servers'), 0, []);
  const groups = [...new Set(servers.flatMap((one) => one.groups))];
  return (
    <label class="row">
      {t('group')}
      <select value={value} onChange={(event) => onChoice(event.currentTarget.value)}>
        <option value="">{t('allGroups')}</option>
        {groups.map((group) => (
          <option key={group} value={group}>
            {group}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Silent({ servers }: { servers: readonly { readonly name: string; readonly reason?: string }[] }) {
  return (
    <>
      {servers.map(
        ({ name, reason }) =>
          reason !== undefined && (
            <p key={name} class="notice bad">
              {t('tellsNothing', { name, why: reason })}
            </p>
          ),
      )}
    </>
  );
}
