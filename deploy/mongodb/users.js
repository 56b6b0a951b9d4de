// Makes Placet's roles and users, once, on an empty MongoDB. Passwords come from the environment.
const wanted = JSON.parse(require("fs").readFileSync("/etc/placet/users.json", "utf8"));
const admin = db.getSiblingDB("admin");

function run(command) {
  const reply = admin.runCommand(command);
  if (!reply.ok) throw new Error(JSON.stringify(reply));
}

wanted.roles.forEach(run);
wanted.users.forEach(({ password_from, ...user }) => {
  const password = process.env[password_from];
  if (!password) throw new Error(`${password_from} is missing: the password of ${user.createUser}`);
  run({ createUser: user.createUser, pwd: password, roles: user.roles });
});
