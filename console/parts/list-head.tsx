/** The header of a list, with its total and export buttons. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type ExportedList, type ExportFormat, exportList, maxExportedRows } from '../export.ts';
import { formatInteger, pluralize } from '../format.ts';
import { Button } from './button.tsx';
import { notify } from './notices.tsx';

interface ListHeadProps {
  readonly exported: ExportedList;
  readonly children?: ComponentChildren;
}

export function ListHead({ exported, children }: ListHeadProps) {
  const [busy, setBusy] = useState<ExportFormat>();
  const save = async (format: ExportFormat) => {
    setBusy(format);
    try {
      const { rows, hasMore } = await exportList(exported, format);
      const more = hasMore
        ? ` The file contains only the first ${formatInteger(maxExportedRows)} rows. Narrow the filters to export the rest.`
        : '';
      notify(`Exported ${pluralize(rows, 'row')}.${more}`, hasMore ? 'note' : undefined);
    } catch (error) {
      notify((error as Error).message, 'bad');
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <div class="list-head">
      <p class="about">{children}</p>
      <div class="actions">
        {(['csv', 'json'] as const).map((format) => (
          <Button
            key={format}
            look="quiet"
            icon="download"
            label={`Export as ${format.toUpperCase()}`}
            isBusy={busy === format}
            onClick={() => save(format)}
          >
            {format.toUpperCase()}
          </Button>
        ))}
      </div>
    </div>
  );
}
