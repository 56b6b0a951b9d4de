// A service in Node asks for an approval over RabbitMQ, and waits for the answer.
//
//   npm ci
//   node other_service.mjs ask 4711 1200    prints how it ended, and by whom
//   node other_service.mjs withdraw 4711    takes the question back
//
// Wants AMQP_URL, the AMQP user of this service, here `svc-billing`, which the operator made known with
// `placet keys user svc-billing --service billing --scope runs:write`.

import { createHash } from "node:crypto";

import amqp from "amqplib";

const USER = "svc-billing";
const REPLIES = `placet.reply.${USER}.node`;

// This service's own name for the question, `inp_` and 32 hex digits: the same for the same order.
const ownId = (order) =>
  `inp_${createHash("sha256").update(`refund ${order}`).digest("hex").slice(0, 32)}`;

const request = (order, cents) => ({
  kind: "tool_approval",
  id: ownId(order),
  call: { id: `refund-${order}`, tool: "refund", args: { order, cents } },
  risk: "high",
  agent_id: "billing",
  run_id: `order-${order}`,
  message: `Refund order ${order}?`,
  requested_at: new Date().toISOString(),
});

const close = (order) => ({
  input_id: ownId(order),
  run_id: `order-${order}`,
  reason: "withdrawn",
});

async function publish(channel, key, type, body) {
  channel.publish("placet.requests", key, Buffer.from(JSON.stringify(body)), {
    type,
    contentType: "application/json",
    persistent: true,
    userId: USER, // who asks: RabbitMQ refuses a name that is not the connection's
    headers: { "event-id": `${key}:${body.id ?? body.input_id}` },
    correlationId: body.run_id,
    replyTo: REPLIES,
  });
  await channel.waitForConfirms();
}

// How the question ended, once it has.
function ended(channel, runId) {
  return new Promise((resolve, reject) => {
    const take = (message) => {
      if (message === null) return reject(new Error("the queue was deleted"));
      channel.ack(message);
      if (message.properties.correlationId !== runId) return;
      const reply = JSON.parse(message.content.toString());
      if (message.properties.type !== "placet.resolution.v1") {
        return resolve(`refused: ${reply.detail}`);
      }
      const word = reply.outcome.decision ?? reply.outcome.state;
      resolve(`${word} by ${reply.by?.id ?? "nobody"}`);
    };
    channel.consume(REPLIES, take).catch(reject);
  });
}

const [word, order, cents] = process.argv.slice(2);
const connection = await amqp.connect(process.env.AMQP_URL);
const channel = await connection.createConfirmChannel();
if (word === "withdraw") {
  await publish(channel, "close", "placet.close.v1", close(order));
} else {
  const asked = request(order, Number(cents));
  // Durable, and there before the question: a reply waits here while this service is away.
  await channel.assertQueue(REPLIES, { durable: true });
  await publish(channel, asked.kind, "placet.approval_request.v1", asked);
  console.log(await ended(channel, asked.run_id));
}
await channel.close();
await connection.close();
