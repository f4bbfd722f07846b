"""MiniStack with container agents (`ministack_agent`), and with AWS's semantics for versions of secrets: a version ID that exists
with other content is refused, and with the same content nothing is written. MiniStack itself overwrites the version, and removes the
IDs of older versions.

Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html
"""

import sys

import ministack_agent
import ministack_caller
import ministack_cloudformation
import ministack_iam
from ministack.app import main
from ministack.services import secretsmanager

# The content of every version, by the secret's ARN and the version's ID.
contents = {}
create_secret = secretsmanager._create_secret
put_secret_value = secretsmanager._put_secret_value


def content_of(data):
    return data.get("SecretString"), data.get("SecretBinary")


def create_with_version(data):
    answer = create_secret(data)
    token, secret = data.get("ClientRequestToken"), secretsmanager._secrets.get(data.get("Name"))
    if answer[0] != 200 or not token:
        return answer
    secret["Versions"] = {token: version for version in secret["Versions"].values()}
    contents[secret["ARN"], token] = content_of(data)
    return secretsmanager.json_response({"ARN": secret["ARN"], "Name": secret["Name"], "VersionId": token})


def put_version(data):
    token, (_, secret) = data.get("ClientRequestToken"), secretsmanager._resolve(data.get("SecretId"))
    if not token or not secret or secret.get("DeletedDate"):
        return put_secret_value(data)
    key = secret["ARN"], token
    if key not in contents:
        contents[key] = content_of(data)
        return put_secret_value(data)
    if contents[key] != content_of(data):
        message = f"You can't use ClientRequestToken {token} because that value is already in use."
        return secretsmanager.error_response_json("ResourceExistsException", message, 400)
    stages = secret["Versions"].get(token, {}).get("Stages", [])
    return secretsmanager.json_response(
        {"ARN": secret["ARN"], "Name": secret["Name"], "VersionId": token, "VersionStages": list(stages)}
    )


secretsmanager._create_secret = create_with_version
secretsmanager._put_secret_value = put_version
ministack_agent.install()
ministack_cloudformation.install()
ministack_iam.install()
ministack_caller.install()

if __name__ == "__main__":
    sys.exit(main())
