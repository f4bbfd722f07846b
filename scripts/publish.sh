#!/usr/bin/env bash
# Copies the functions' zips next to this script into S3 buckets of yours, and writes the template for each:
#
#   ./publish.sh BUCKET...
#
# A function's code must be in a bucket of its own region. template-BUCKET.yaml deploys from BUCKET; stackset.yaml deploys from
# the bucket PREFIX-REGION of each region, so for StackSets name all of these buckets. Have your account ID in PREFIX, and create
# each bucket before a StackSet deploys in its region: its owner decides what the functions run. Needs the AWS CLI, and
# s3:PutObject on the buckets.
set -euo pipefail

[[ $# -gt 0 && $1 != -* ]] || {
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
}
cd "$(dirname "${BASH_SOURCE[0]}")"
version=$(sed -nE 's/^ *ControllerVersion: "(.*)"$/\1/p' template.yaml)
architecture=$(sed -nE '/^  Architecture:/,/Default:/s/^ *Default: (.*)$/\1/p' template.yaml)
folder=ecs-mesh-controller/$version/$architecture

for bucket in "$@"; do
    for function in task-events reconcile audit; do
        aws s3 cp --only-show-errors "$function.zip" "s3://$bucket/$folder/$function.zip"
    done
    sed -E "s|^( *CodeUri: )([a-z-]+\.zip)$|\1s3://$bucket/$folder/\2|" template.yaml >"template-$bucket.yaml"
    # CloudFormation reads a template of more than 51,200 bytes from S3 only.
    aws s3 cp --only-show-errors "template-$bucket.yaml" "s3://$bucket/$folder/template.yaml"
    aws s3 cp --only-show-errors stackset.yaml "s3://$bucket/$folder/stackset.yaml"
    echo "$bucket: copied $folder/{task-events,reconcile,audit}.zip, template.yaml and stackset.yaml"
done
