/** The forms of connectors in Chinese. */
import type { FieldTexts, FormTexts } from '../base/form-texts.js';
import type { Connector, ConnectorTexts } from './define.js';

/** Properties of all connectors. */
const common: FieldTexts = {
  useInt64ForWholeNumber: ['整数使用 int64', '未声明列的整数为 64 位整数'],
  connectionSelector: ['复用连接信息', '使用其属性的命名连接'],
};

export interface ChineseForm extends FormTexts {
  readonly dataSource?: string;
}

/** Texts of the form of a part; undefined when nobody has put them into Chinese. */
export async function chineseForm(
  { chinese }: Connector,
  part: 'source' | 'sink' | 'connection',
): Promise<ChineseForm | undefined> {
  const texts: ConnectorTexts | undefined = await chinese?.();
  return texts && { ...texts, props: { ...common, ...texts.connection, ...texts[part] } };
}
