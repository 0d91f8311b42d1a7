import { useState } from 'preact/hooks';
import { type Role, roles } from '../../src/domain/role.ts';
import { call } from '../api.ts';
import type { ResponseOf } from '../contract.ts';
import { roleLabels } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { ChangeButton } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { LoadState } from '../parts/failure.tsx';
import { SelectField, TextField } from '../parts/form.tsx';
import { type DialogCallbacks, FormDialog } from '../parts/form-dialog.tsx';
import { EmptyMessage, Page } from '../parts/layout.tsx';
import { OwnSessions } from '../parts/own-sessions.tsx';
import { Secret } from '../parts/secret.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';

type Operator = ResponseOf<'GET /operators'>[number];
type Issued = ResponseOf<'POST /operators'>;

interface Chosen {
  readonly operator: Operator;
  readonly step: 'rotate' | 'revoke';
}

export function OperatorsPage() {
  const loaded = useLoaded('operators', () => call('GET /operators'));
  const { data } = loaded;
  const [isAdding, setIsAdding] = useState(false);
  const [chosen, setChosen] = useState<Chosen>();
  const [issued, setIssued] = useState<Issued>();
  const ends = { onClose: () => setIsAdding(false), onDone: loaded.reload };
  const endsOfChosen = { onClose: () => setChosen(undefined), onDone: loaded.reload };
  return (
    <Page
      title="Operators"
      about="People and programs with access to this console and the admin API. Only admins can make changes."
      actions={
        <ChangeButton look="primary" icon="add" onClick={() => setIsAdding(true)}>
          Add operator
        </ChangeButton>
      }
    >
      <LoadState loaded={loaded} />
      {data?.length === 0 && (
        <EmptyMessage>There are no operators yet. Add one to sign in without a link.</EmptyMessage>
      )}
      {data !== undefined && data.length > 0 && (
        <Table label="Operators" columns={columnsOf(setChosen)} items={data} keyOf={({ id }) => id} />
      )}
      <OwnSessions />
      {isAdding && <AddOperator {...ends} onIssued={setIssued} />}
      {chosen?.step === 'rotate' && (
        <Rotate {...endsOfChosen} operator={chosen.operator} onIssued={setIssued} />
      )}
      {chosen?.step === 'revoke' && <Revoke {...endsOfChosen} operator={chosen.operator} />}
      {issued && (
        <Secret
          title={`Token for ${quoteName(issued.name)}`}
          what="token"
          secret={issued.token}
          onClose={() => setIssued(undefined)}
        />
      )}
    </Page>
  );
}

function columnsOf(choose: (chosen: Chosen) => void): readonly Column<Operator>[] {
  return [
    {
      title: 'Name',
      show: ({ name, lastFour }) => (
        <>
          <span class="name">{quoteName(name)}</span>
          <span class="under">
            Token ends in <code>{lastFour}</code>
          </span>
        </>
      ),
    },
    { title: 'Role', show: ({ role }) => roleLabels[role] },
    { title: 'Added', show: ({ createdAt }) => <Time at={createdAt} /> },
    {
      title: 'State',
      show: ({ revokedAt }) => (
        <Badge
          word={revokedAt === null ? { text: 'Active', tone: 'good' } : { text: 'Revoked', tone: 'quiet' }}
        />
      ),
    },
    {
      title: 'Actions',
      kind: 'actions',
      show: (operator) =>
        operator.revokedAt === null && (
          <>
            <ChangeButton
              label={`Rotate token for ${quoteName(operator.name)}`}
              onClick={() => choose({ operator, step: 'rotate' })}
            >
              Rotate token
            </ChangeButton>
            <ChangeButton
              look="danger"
              label={`Revoke ${quoteName(operator.name)}`}
              onClick={() => choose({ operator, step: 'revoke' })}
            >
              Revoke
            </ChangeButton>
          </>
        ),
    },
  ];
}

const roleOptions = roles.map(
  (role) => [role, role === 'viewer' ? 'Viewer (read-only)' : 'Admin (can make changes)'] as const,
);

interface Issuing extends DialogCallbacks {
  readonly onIssued: (issued: Issued) => void;
}

function AddOperator({ onIssued, ...ends }: Issuing) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const add = async () => {
    onIssued(await call('POST /operators', { body: { name: name.trim(), role } }));
    return `Added ${quoteName(name.trim())}.`;
  };
  return (
    <FormDialog
      {...ends}
      title="Add operator"
      submit="Add operator"
      isReady={name.trim() !== ''}
      onSubmit={add}
    >
      {(failure) => (
        <>
          <TextField
            label="Name"
            name="name"
            value={name}
            onInput={setName}
            failure={failure}
            hint="Shown in the audit log next to the operator's changes."
          />
          <SelectField
            label="Role"
            name="role"
            value={role}
            options={roleOptions}
            onChange={setRole}
            failure={failure}
          />
        </>
      )}
    </FormDialog>
  );
}

function Rotate({ operator: { id, name }, onIssued, ...ends }: Issuing & { operator: Operator }) {
  const rotate = async () => {
    onIssued(await call('POST /operators/{operatorId}/rotate', { params: { operatorId: id } }));
    return `Rotated the token for ${quoteName(name)}.`;
  };
  return (
    <Confirm
      {...ends}
      title={`Rotate the token for ${quoteName(name)}?`}
      act="Rotate token"
      isDanger
      onConfirm={rotate}
    >
      <p>
        The old token stops working immediately, and all sessions of {quoteName(name)} end. Give them the new
        token.
      </p>
    </Confirm>
  );
}

function Revoke({ operator: { id, name }, ...ends }: DialogCallbacks & { operator: Operator }) {
  const revoke = async () => {
    await call('POST /operators/{operatorId}/revoke', { params: { operatorId: id } });
    return `Revoked ${quoteName(name)}.`;
  };
  return (
    <Confirm
      {...ends}
      title={`Revoke ${quoteName(name)}?`}
      act="Revoke operator"
      typed={name}
      onConfirm={revoke}
    >
      <p>
        Their token stops working immediately, and all their sessions end. This cannot be undone. Their
        changes stay in the audit log.
      </p>
    </Confirm>
  );
}
