import { useState } from 'preact/hooks';
import { allowedTransitions, type OrderTransition } from '../../src/domain/order-status.ts';
import { call, callPage } from '../api.ts';
import type { InputOf, PageOf, PlacedOrder } from '../contract.ts';
import { capitalize, formatCappedCount, pluralize } from '../format.ts';
import type { Int64 } from '../json.ts';
import { orderLabels, orderStatusLabels, orderTransitionLabels } from '../labels.ts';
import { Badge } from '../parts/badge.tsx';
import { ChangeButton } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { ChoiceFilter, Filters, TextFilter } from '../parts/filters.tsx';
import { TextField } from '../parts/form.tsx';
import { type DialogCallbacks, FormDialog } from '../parts/form-dialog.tsx';
import { Page } from '../parts/layout.tsx';
import { ListHead } from '../parts/list-head.tsx';
import { PagedTable, withoutCursor } from '../parts/pages.tsx';
import type { Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { currentRoute } from '../router.ts';
import { startOfDay } from '../start-of-day.ts';
import { quoteName } from '../text.ts';
import { useLoaded } from '../use-loaded.ts';

interface Chosen {
  readonly order: PlacedOrder;
  readonly step: OrderTransition;
}

export function OrdersPage() {
  const { query } = currentRoute.value;
  const loaded = useLoaded(query.toString(), () => load(query));
  const names = useAnimalNames(loaded.data?.items.map(({ petId }) => petId) ?? []);
  const [isPlacing, setIsPlacing] = useState(false);
  const [chosen, setChosen] = useState<Chosen>();
  return (
    <Page
      title="Orders"
      about="An order reserves one animal until the order is delivered or cancelled."
      actions={
        <ChangeButton look="primary" icon="add" onClick={() => setIsPlacing(true)}>
          Place order
        </ChangeButton>
      }
    >
      <Filters>
        <ChoiceFilter name="status" label="Status" all="Any status" words={orderStatusLabels} />
        <TextFilter name="petId" label="Animal" placeholder="Any id" kind="digits" />
        <TextFilter name="order" label="Order" placeholder="Any id" kind="digits" />
        <TextFilter name="from" label="Placed from" kind="date" />
        <TextFilter name="to" label="Placed to" kind="date" />
        <ChoiceFilter name="sort" label="Sort by" all="Newest first" words={orderLabels} />
      </Filters>
      {!query.has('order') && (
        <ListHead exported={{ route: 'GET /orders', query: withoutCursor(filtersOf(query)), name: 'orders' }}>
          <Total status={query.get('status')} />
        </ListHead>
      )}
      <PagedTable
        label="Orders"
        loaded={loaded}
        columns={columnsOf(names, (order, step) => setChosen({ order, step }))}
        keyOf={({ id }) => id}
        empty={query.size > 0 ? 'No orders match these filters.' : 'There are no orders yet.'}
      />
      {isPlacing && <PlaceOrder onClose={() => setIsPlacing(false)} onDone={loaded.reload} />}
      {chosen && <Step {...chosen} onClose={() => setChosen(undefined)} onDone={loaded.reload} />}
    </Page>
  );
}

/** Converts the filters in the address to API filters, and dates to timestamps. */
function filtersOf(query: URLSearchParams): InputOf<'GET /orders'>['query'] {
  const { sort, from = null, to = null, ...filters } = Object.fromEntries(query);
  const order = sort === 'oldest' ? ('asc' as const) : ('desc' as const);
  return { ...filters, order, since: startOfDay(from, 0), until: startOfDay(to, 1) };
}

/** Number of orders, in total and with the chosen status. */
function Total({ status }: { status: string | null }) {
  const { data } = useLoaded('totals', () => call('GET /totals'));
  if (data === undefined) return null;
  const ofStatus = data.ordersByStatus[status as keyof typeof data.ordersByStatus];
  return (
    <>
      {pluralize(data.orders, 'order')}
      {ofStatus !== undefined && `, ${formatCappedCount(ofStatus)} ${status}`}
    </>
  );
}

/** Loads a page of orders, or a single order if the query contains an order id. */
async function load(query: URLSearchParams): Promise<PageOf<PlacedOrder>> {
  const orderId = query.get('order');
  if (orderId === null) {
    return callPage('GET /orders', { query: filtersOf(query) });
  }
  return { items: [await call('GET /orders/{orderId}', { params: { orderId } })], next: undefined };
}

/** Animal names by id, excluding deleted animals. */
function useAnimalNames(ids: readonly Int64[]): ReadonlyMap<string, string> {
  const wanted = [...new Set(ids.map(String))].join();
  const { data } = useLoaded(wanted, async () =>
    wanted === '' ? [] : (await callPage('GET /pets', { query: { id: wanted, limit: 100 } })).items,
  );
  return new Map(data?.map(({ id, name }) => [String(id), name]));
}

function columnsOf(
  names: ReadonlyMap<string, string>,
  choose: (order: PlacedOrder, step: OrderTransition) => void,
): readonly Column<PlacedOrder>[] {
  return [
    { title: 'Order', show: ({ id }) => <span class="name">Order {String(id)}</span> },
    {
      title: 'Animal',
      show: ({ petId }) => {
        const name = names.get(String(petId));
        return (
          <>
            <a class="short-name" href={`#/animals?id=${petId}`}>
              {name === undefined ? `Animal ${petId}` : quoteName(name)}
            </a>
            {name !== undefined && <span class="under">Animal&nbsp;{String(petId)}</span>}
          </>
        );
      },
    },
    {
      title: 'Reference',
      show: ({ reference }) =>
        reference === undefined ? '–' : <span class="long">{quoteName(reference)}</span>,
    },
    { title: 'Placed', show: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Updated', show: ({ updatedAt }) => <Time at={updatedAt} /> },
    { title: 'Status', show: ({ status }) => <Badge word={orderStatusLabels[status]} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (order) =>
        allowedTransitions(order.status).map((step) => (
          <ChangeButton
            key={step}
            label={`${capitalize(step)} order ${order.id}`}
            onClick={() => choose(order, step)}
          >
            {orderTransitionLabels[step].act}
          </ChangeButton>
        )),
    },
  ];
}

function Step({ order: { id, petId }, step, ...ends }: Chosen & DialogCallbacks) {
  const { act, done, effect } = orderTransitionLabels[step];
  const take = async () => {
    await call(`POST /orders/{orderId}/${step}`, { params: { orderId: id } });
    return `${done} order ${id}.`;
  };
  return (
    <Confirm
      {...ends}
      title={`${capitalize(step)} order ${id}?`}
      act={act}
      {...(step === 'cancel' && { cancel: 'Keep order' })}
      isDanger={step === 'cancel'}
      onConfirm={take}
    >
      <p>
        The order is for animal {String(petId)}. {effect}
      </p>
    </Confirm>
  );
}

function PlaceOrder(ends: DialogCallbacks) {
  const [petId, setPetId] = useState('');
  const [reference, setReference] = useState('');
  const placeIt = async () => {
    const given = reference.trim() === '' ? undefined : reference.trim();
    const { id } = await call('POST /orders', { body: { petId: BigInt(petId), reference: given } });
    return `Placed order ${id}.`;
  };
  return (
    <FormDialog
      {...ends}
      title="Place order"
      submit="Place order"
      isReady={/^\d+$/.test(petId)}
      onSubmit={placeIt}
    >
      {(failure) => (
        <>
          <TextField
            label="Animal"
            name="petId"
            value={petId}
            onInput={setPetId}
            failure={failure}
            hint="The id of an available animal."
          />
          <TextField
            label="Reference (optional)"
            name="reference"
            value={reference}
            onInput={setReference}
            failure={failure}
          />
        </>
      )}
    </FormDialog>
  );
}
